"""Lines: what ends one, what is none, how long one may be (clauses T-21 to T-32)."""

from __future__ import annotations

from tests.conformance.check import code_of, expect, must, should
from tests.conformance.checks.probe import INVALID, METHOD, PARSE, answers, expect_answers, request
from tests.conformance.kit import Kit, got

MIB = 1 << 20
BOM = b"\xef\xbb\xbf"


@must("T-21", "input is split at line feeds alone")
def split(kit: Kit) -> None:
    for char in ("\u2028", "\u2029", "\u0085", "\u000b", "\u000c"):
        ident = f"a{char}b"
        line = request("x").replace(b'"x"', f'"{ident}"'.encode()) if char > "\x1f" else b" " + request(ident)
        expect_answers(kit, line, (ident, METHOD))


@must("T-22", "a line of 20 MiB is taken")
def long_lines(kit: Kit) -> None:
    expect_answers(kit, request("long", params={"pad": "x" * 20 * MIB}), ("long", METHOD))


@should("T-23", "a line beyond the limit is refused and the connection lives on")
def too_long(kit: Kit) -> None:
    client = kit.fresh()
    line = request("huge", params={"pad": "x" * 110 * MIB})
    client.trace.add(client.agent.proc, "sent", b'[{"id":"huge"}]', odd=True)  # stands for the line: either id is fine
    expect(client.agent.write(line + b"\n", kit.seconds) is None, "the agent does not read it")
    kit.ping(client)
    came = [frame.value for frame in got(client) if frame.is_answer()]
    found = [(a["id"], code_of(a)) for a in came if a["id"] in {None, "huge"}]
    expect(found in ([(None, INVALID)], [("huge", METHOD)]), f"110 MiB are answered by {found or 'nothing'}")


@must("T-25", "CRLF and blank lines are taken silently")
def blank(kit: Kit) -> None:
    for line in (b"", b"   ", b"\r"):
        expect_answers(kit, line)
    expect_answers(kit, request("crlf") + b"\r", ("crlf", METHOD))


@should("T-26", "a last line without a line feed is served at the end of input")
def last_line(kit: Kit) -> None:
    client = kit.fresh()
    client.trace.add(client.agent.proc, "sent", request("last"))
    client.agent.write(request("last"))
    client.agent.close_stdin()
    client.agent.wait_exit(kit.seconds)
    came = [frame.value["id"] for frame in got(client) if frame.is_answer()]
    expect("last" in came, "it is not answered")


@should("T-27", "a byte order mark before the first line is taken off")
def mark(kit: Kit) -> None:
    client = kit.fresh(greet=False)
    client.send_line(BOM + request(900, "initialize", params={"protocolVersion": 1}))
    answer = client.answer(900, kit.seconds)
    expect("result" in answer, f"initialize behind it is refused: {answer}")


@must("T-28", "bytes that are no UTF-8 are answered by -32700")
def no_utf8(kit: Kit) -> None:
    expect_answers(kit, b"\xff\xfe\xff", (None, PARSE))


@must("T-30", "frames are written whole, however many at once")
def whole(kit: Kit) -> None:
    client = kit.ordinary()
    found = answers(kit, client, *(request(f"many-{n}") for n in range(200)))
    expect(sorted(found) == sorted((f"many-{n}", METHOD) for n in range(200)), f"{len(found)} of 200 are answered")


@must("T-31", "a client that does not read does not stop the reading")
def back_pressure(kit: Kit) -> None:
    client = kit.fresh()
    client.agent.pause_reading()
    count = 2000
    wrong = client.agent.write(b"".join(request(f"n-{n}" + "x" * 200) + b"\n" for n in range(count)), kit.seconds)
    for n in range(count):
        client.trace.add(client.agent.proc, "sent", request(f"n-{n}" + "x" * 200), odd=True)
    client.agent.resume_reading()
    kit.ping(client)
    expect(wrong is None, f"with {count} answers waiting: {wrong}")


@must("T-32", "deep nesting and huge numbers end nothing")
def deep(kit: Kit) -> None:
    for line in (b"[" * 100_000, b'{"a":' * 100_000, request("n").replace(b"{}", b'{"n":' + b"9" * 10_000 + b"}")):
        found = answers(kit, kit.ordinary(), line)
        expect(found, f"{line[:20]!r}... is answered by nothing")
