"""Envelopes, error codes and extensions: what each message gets for an answer (clauses T-40 to T-58, T-60 to T-89)."""

from __future__ import annotations

from tests.conformance.check import NotJudgedError, code_of, expect, must, should
from tests.conformance.checks.probe import (
    INVALID,
    METHOD,
    NOT_FOUND,
    PARAMS,
    PARSE,
    UNKNOWN_METHOD,
    answers,
    expect_answers,
    expect_code,
    note,
    request,
)
from tests.conformance.kit import AUTH_REQUIRED, Kit, got

OPTIONAL = {
    "session/load": "loadSession",
    "session/list": "sessionCapabilities.list",
    "session/resume": "sessionCapabilities.resume",
    "session/close": "sessionCapabilities.close",
    "session/delete": "sessionCapabilities.delete",
    "logout": "auth.logout",
}
"""Method -> the capability that offers it."""


@must("T-40", "a line that is no JSON is answered by -32700 with id null")
def no_json(kit: Kit) -> None:
    for line in (b"{broken", b"{'jsonrpc':'2.0'}", b"Content-Length: 20", request(1) + b" trailing"):
        expect_answers(kit, line, (None, PARSE))


@must("T-41", "an array is answered by one -32600, its members are not served")
def arrays(kit: Kit) -> None:
    for line in (b"[]", b"[" + request("in") + b"]", b"[1,2]"):
        expect_answers(kit, line, (None, INVALID))


@must("T-42", "a scalar is answered by -32600 with id null")
def scalars(kit: Kit) -> None:
    for line in (b"42", b'"text"', b"null", b"true"):
        expect_answers(kit, line, (None, INVALID))


@must("T-43", "a missing or wrong jsonrpc member is answered by -32600")
def version(kit: Kit) -> None:
    for line in (b'{"id":"v","method":"x"}', request("v", jsonrpc="1.0"), request("v", jsonrpc=2.0)):
        found = answers(kit, kit.ordinary(), line)
        refused = [code for _, code in found] == [INVALID]
        expect(refused, f"{line[:60]!r} is answered by {found or 'nothing'}, not {INVALID}")


@must("T-44", "an id comes back with its type and value")
def ids(kit: Kit) -> None:
    for ident in ("abc", "", "ü", "3000", 0, -1, 2**53, None):
        found = answers(kit, kit.ordinary(), request(ident))
        same = [(type(back), back, code) for back, code in found] == [(type(ident), ident, METHOD)]
        expect(same, f"a request with the id {ident!r} is answered by {found or 'nothing'}")


@should("T-45", "a fractional id comes back; one of another kind is refused")
def odd_ids(kit: Kit) -> None:
    expect_answers(kit, request(7.5), (7.5, METHOD))
    odd: tuple[object, ...] = ({}, [], True)
    for ident in odd:
        expect_answers(kit, request(ident), (None, INVALID))


@must("T-46", "a notification is never answered")
def notifications(kit: Kit) -> None:
    for line in (note("session/new"), note("session/prompt"), note(UNKNOWN_METHOD), note("totally/unknown")):
        expect_answers(kit, line)


@must("T-47", "id null makes a request")
def null_id(kit: Kit) -> None:
    expect_answers(kit, request(None), (None, METHOD))


@must("T-48", "unknown members of an envelope are ignored")
def members(kit: Kit) -> None:
    expect_answers(kit, request("more", type="com.example.Request", meta={}, _meta=5), ("more", METHOD))


@must("T-49", "params that are no object are -32602")
def params(kit: Kit) -> None:
    for wrong in ([1], 5, "text"):
        expect_answers(kit, request("p", "session/new", params=wrong), ("p", PARAMS))


@must("T-52", "an answer to nothing is passed over")
def stray_answers(kit: Kit) -> None:
    for line in (
        b'{"jsonrpc":"2.0","id":12345,"result":{}}',
        b'{"jsonrpc":"2.0","id":"odd","error":{"code":-32603,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":12345,"error":"odd"}',
    ):
        expect_answers(kit, line)


@must("T-56", "a slow request holds up no other")
def overtaking(kit: Kit) -> None:
    client, session = kit.session()
    slow = kit.ask(client, session, {"text": "", "hang": True})
    first = len(client.trace.frames)
    kit.ping(client)
    waiting = not [f for f in got(client, first) if f.is_answer() and f.value["id"] == slow]
    client.notify("session/cancel", {"sessionId": session})
    client.answer(slow, kit.seconds)
    expect(waiting, "the prompt was answered although its model was silent")


@must("T-57", "two requests with one id are both answered")
def twins(kit: Kit) -> None:
    found = answers(kit, kit.ordinary(), request("twin"), request("twin"))
    expect(len(found) == 2, f"they are answered by {found or 'nothing'}")


@must("T-58", "initialize and session/new may come in one write")
def pipelined(kit: Kit) -> None:
    kit.session()
    client = kit.fresh(greet=False)
    lines = [
        request(901, "initialize", params={"protocolVersion": 1, "clientCapabilities": {}}),
        request(902, "session/new", params={"cwd": str(kit.project), "mcpServers": []}),
    ]
    for line in lines:
        client.trace.add(client.agent.proc, "sent", line)
    client.agent.write(b"\n".join(lines) + b"\n")
    answer = client.answer(902, kit.seconds)
    expect(code_of(answer) in {"result", AUTH_REQUIRED}, f"session/new behind initialize: {answer}")


@must("T-61", "an unknown session is -32002")
def unknown_session(kit: Kit) -> None:
    client = kit.ordinary()
    kit.session()
    block = {"prompt": [{"type": "text", "text": "hi"}]}
    expect_code(kit.call(client, "session/prompt", {"sessionId": "nobody", **block}), NOT_FOUND, "session/prompt")
    opening = {"sessionId": "nobody", "cwd": str(kit.project), "mcpServers": []}
    for method in ("session/load", "session/resume"):
        if kit.has(OPTIONAL[method]):
            expect_code(kit.call(client, method, opening), NOT_FOUND, method)


@should("T-62", "what a person should read stands in data.details")
def details(kit: Kit) -> None:
    answer = kit.call(kit.ordinary(), "session/new", {"cwd": "relative", "mcpServers": []})
    data = answer.get("error", {}).get("data")
    if code_of(answer) in {"result", AUTH_REQUIRED}:
        raise NotJudgedError("a relative cwd is no error here")
    expect(isinstance(data, dict) and isinstance(data.get("details"), str), f"the error of a relative cwd: {answer}")


@must("T-65", "a method that is not advertised is -32601")
def not_offered(kit: Kit) -> None:
    hidden = [method for method, path in OPTIONAL.items() if not kit.has(path)]
    if not hidden:
        raise NotJudgedError("everything is advertised")
    given = {"sessionId": "nobody", "cwd": str(kit.project), "mcpServers": []}
    for method in hidden:
        expect_code(kit.call(kit.ordinary(), method, given), METHOD, method)


@must("T-66", "a request before initialize is -32600")
def early(kit: Kit) -> None:
    client = kit.fresh(greet=False)
    client.notify("session/cancel", {"sessionId": "x"})
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": []})
    expect_code(answer, INVALID, "session/new before initialize")
    kit.greet(client)


@must("T-80", "an unknown method with an underscore is -32601, such a notification is ignored")
def unknown_extension(kit: Kit) -> None:
    expect_answers(kit, request("u", "_conformance/other"), ("u", METHOD))
    expect_answers(kit, note("_conformance/notice"))


@must("T-81", "an unknown method is -32601, such a notification is ignored")
def unknown_method(kit: Kit) -> None:
    for method in ("totally/unknown", "nes/start", "fs/read_text_file"):
        expect_answers(kit, request("u", method), ("u", METHOD))
    expect_answers(kit, note("totally/unknown"))


@must("T-82", "unknown fields are ignored")
def unknown_fields(kit: Kit) -> None:
    client, _ = kit.session()
    more = {"somethingNew": [1], "_meta": {"example.com/x": 1}}
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": [], **more})
    expect("result" in answer, f"session/new with an unknown field: {answer}")


@should("T-86", "the trace context of a prompt goes on to the provider")
def trace_context(kit: Kit) -> None:
    client, session = kit.session()
    kit.scripted()
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    text = "trace me"
    kit.model.script.keyed.append((text, [{"text": "Traced."}]))
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}], "_meta": {"traceparent": context}}
    kit.result(client, "session/prompt", params)
    sent = [asked.headers.get("traceparent", "") for asked in kit.asked(text)]
    expect(any(context[3:35] in header for header in sent), f"the model's requests have traceparent {sent}")


@must("T-87", "_meta of a wrong type is ignored")
def odd_meta(kit: Kit) -> None:
    client, _ = kit.session()
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": [], "_meta": 5}, odd=True)
    expect("result" in answer, f"session/new with _meta 5: {answer}")
