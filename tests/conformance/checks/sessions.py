"""session/new (clauses S-01 to S-12)."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conformance.check import NotJudgedError, code_of, expect, must, should
from tests.conformance.checks.probe import PARAMS, expect_code
from tests.conformance.kit import AUTH_REQUIRED, REFUSING, Kit, got, updates
from tests.support.trace import Obj

SAFE_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
SESSIONS = 20


def new(kit: Kit, *, odd: bool = False, **params: object) -> Obj:
    """Return the answer to a session/new of the ordinary client."""
    client, _ = kit.session()
    return kit.call(client, "session/new", {"mcpServers": [], **params}, odd=odd)


@must("S-01", "a relative cwd is -32602")
def relative(kit: Kit) -> None:
    for cwd in ("relative", "./x", ""):
        answer = kit.call(kit.ordinary(), "session/new", {"cwd": cwd, "mcpServers": []})
        if code_of(answer) == AUTH_REQUIRED:
            raise NotJudgedError("session/new needs a sign-in first")
        expect_code(answer, PARAMS, f"the cwd {cwd!r}")


@should("S-02", "a cwd that is not there is -32602")
def missing(kit: Kit) -> None:
    expect_code(new(kit, cwd=str(kit.root / "missing")), PARAMS, "a missing cwd")


@must("S-03", "session ids are unique and fit for a file name")
def unique(kit: Kit) -> None:
    client, _ = kit.session()
    ids = [kit.new(client) for _ in range(SESSIONS)]
    expect(len(set(ids)) == SESSIONS, f"{SESSIONS} sessions have {len(set(ids))} ids")
    odd = [ident for ident in ids if not re.fullmatch(SAFE_ID, ident)]
    expect(not odd, f"an id is {odd[:1]}")


@must("S-04", "no update of a session precedes the answer that names it")
def order(kit: Kit) -> None:
    client = kit.ordinary()
    first = len(client.trace.frames)
    ident = client.request("session/new", {"cwd": str(kit.project), "mcpServers": []})
    answer = client.answer(ident, kit.seconds)
    if "result" not in answer:
        kit.session()
    session = answer.get("result", {}).get("sessionId")
    kit.settle(client)
    frames = got(client, first)
    at = next(n for n, frame in enumerate(frames) if frame.is_answer() and frame.value["id"] == ident)
    early = [u.kind for frame in frames[:at] if (u := frame.update()) is not None and u.session == session]
    expect(not early, f"{early} come before it")


@should("S-05", "available_commands_update follows the answer")
def commands(kit: Kit) -> None:
    client, _ = kit.session()
    first = len(client.trace.frames)
    session = kit.new(client)
    kit.settle(client)
    kinds = [update["sessionUpdate"] for update in updates(client, session, first)]
    expect("available_commands_update" in kinds, f"what follows is {kinds}")


@must("S-09", "missing and null mcpServers mean none")
def no_servers(kit: Kit) -> None:
    client, _ = kit.session()
    for more in ({}, {"mcpServers": None}):
        answer = kit.call(client, "session/new", {"cwd": str(kit.project), **more}, odd=True)
        expect("result" in answer, f"session/new with {more or 'no mcpServers'}: {answer}")


@must("S-10", "sessions run beside each other and do not mix")
def beside(kit: Kit) -> None:
    client, _ = kit.session()
    sessions = [kit.new(client) for _ in range(4)]
    asked = [
        kit.ask(client, session, {"text": f"Word {n}. " * 8, "chunks": 8, "delay_ms": 20})
        for n, session in enumerate(sessions)
    ]
    for n, ident in enumerate(asked):
        done = kit.done(client, ident)
        expect(done.said == f"Word {n}. " * 8, f"session {n} says {done.said!r}")


@should("S-11", "additional directories have to be absolute")
def more_folders(kit: Kit) -> None:
    kit.need("sessionCapabilities.additionalDirectories")
    expect_code(new(kit, cwd=str(kit.project), additionalDirectories=["relative"]), PARAMS, "a relative one")
    answer = new(kit, cwd=str(kit.project), additionalDirectories=[str(kit.folder("second"))])
    expect("result" in answer, f"an absolute one: {answer}")


@must("S-12", "a change outside of the session's directories is asked or refused")
def bounds(kit: Kit) -> None:
    outside = kit.folder("outside")
    target = _write_outside(kit, outside)
    expect(not target.exists(), "the file was written although the person refused")


def _write_outside(kit: Kit, outside: Path) -> Path:
    target = outside / "strayed.txt"
    client, session = kit.pair(answerers=REFUSING)
    call = kit.tool("write_file", path=str(target), content="stray")
    done = kit.turn(client, session, call, {"text": "Done."})
    expect(done.stop in {"end_turn", "cancelled"}, f"the turn ends with {done.stop}")
    return target
