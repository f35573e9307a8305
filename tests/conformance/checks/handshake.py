"""initialize: versions, capabilities, what is offered (clauses I-01 to I-15)."""

from __future__ import annotations

from tests.conformance.check import FaultError, expect, may, must, should
from tests.conformance.checks.envelopes import OPTIONAL
from tests.conformance.checks.probe import METHOD, PARAMS, expect_code
from tests.conformance.kit import NO_CAPABILITIES, Kit
from tests.support.trace import Obj


def hello(kit: Kit, *, odd: bool = False, **params: object) -> Obj:
    """Return the answer of a process of its own to these params."""
    return kit.call(kit.fresh(greet=False), "initialize", dict(params), odd=odd)


def version(answer: Obj) -> object:
    return answer.get("result", {}).get("protocolVersion")


@must("I-01", "a version beyond ours is answered by ours")
def newer(kit: Kit) -> None:
    for asked in (1, 99, 65535):
        answer = hello(kit, protocolVersion=asked)
        got = version(answer)
        fine = got == 1 if asked == 1 else type(got) is int and 1 <= got < asked
        expect(fine, f"version {asked} is answered by {got}: {str(answer)[:120]}")


@must("I-02", "version 0 is answered by one that there is, or refused")
def zero(kit: Kit) -> None:
    answer = hello(kit, protocolVersion=0)
    got = version(answer)
    expect("error" in answer or (type(got) is int and got >= 1), f"version 0 is answered by {answer}"[:200])


@must("I-03", "what is no whole number is -32602")
def no_version(kit: Kit) -> None:
    client = kit.ordinary()
    for params in ({"protocolVersion": True}, {"protocolVersion": 1.5}, {"protocolVersion": None}, {}):
        expect_code(kit.call(client, "initialize", params, odd=True), PARAMS, f"initialize {params}")


@may("I-04", "digits as text count as a number")
def digits(kit: Kit) -> None:
    answer = hello(kit, odd=True, protocolVersion="1")
    expect(version(answer) == 1, f'"1" is answered by {answer}')


@must("I-05", "missing and odd client capabilities are no error")
def odd_capabilities(kit: Kit) -> None:
    for given in ({}, {"clientCapabilities": None}, {"clientCapabilities": {"fs": "yes", "terminal": 1}}):
        answer = hello(kit, odd=True, protocolVersion=1, **given)
        expect("result" in answer, f"{given} is answered by {answer}")


@must("I-07", "the shape of version 2 gets a version that the answer is shaped by")
def second_shape(kit: Kit) -> None:
    info = {"name": "x", "version": "1"}
    answer = hello(kit, odd=True, protocolVersion=2, info=info, capabilities={}, clientInfo=info, clientCapabilities={})
    result = answer.get("result", {})
    shaped = "agentCapabilities" in result if version(answer) == 1 else "capabilities" in result
    expect(shaped, f"it is answered by {answer}")


@must("I-08", "a second initialize succeeds")
def again(kit: Kit) -> None:
    client = kit.fresh()
    answer = kit.call(client, "initialize", {"protocolVersion": 1, "clientCapabilities": NO_CAPABILITIES})
    expect(version(answer) == 1, f"it is answered by {answer}")


@should("I-09", "a second initialize keeps the sessions")
def keeps_sessions(kit: Kit) -> None:
    client, session = kit.pair()
    kit.greet(client)
    done = kit.plain_turn(client, session)
    expect(done.stop == "end_turn", f"a prompt after it is answered by {done.answer}")


@should("I-10", "agentInfo has name and version")
def info(kit: Kit) -> None:
    told = hello(kit, protocolVersion=1).get("result", {}).get("agentInfo") or {}
    missing = [key for key in ("name", "version") if not isinstance(told.get(key), str)]
    expect(not missing, f"agentInfo is {told}")


@must("I-11", "session capabilities are objects")
def objects(kit: Kit) -> None:
    told = kit.offered().get("sessionCapabilities") or {}
    odd = {key: value for key, value in told.items() if not isinstance(value, dict | None)}
    expect(not odd, f"they are {odd}")


@must("I-12", "flags are booleans")
def flags(kit: Kit) -> None:
    offered = kit.offered()
    told = {"loadSession": offered.get("loadSession", False)}
    for group in ("promptCapabilities", "mcpCapabilities"):
        told |= {name: value for name, value in (offered.get(group) or {}).items() if name != "_meta"}
    odd = {name: value for name, value in told.items() if not isinstance(value, bool)}
    expect(not odd, f"they are {odd}")


@must("I-13", "what is advertised is there")
def works(kit: Kit) -> None:
    given = {"sessionId": "nobody", "cwd": str(kit.project), "mcpServers": []}
    for method, path in OPTIONAL.items():
        if kit.has(path) and method != "logout":
            answer = kit.call(kit.ordinary(), method, given)
            if answer.get("error", {}).get("code") == METHOD:
                raise FaultError(f"{method} is advertised and unknown")


@must("I-15", "authMethods has a method that a client without terminal can use")
def methods(kit: Kit) -> None:
    caps = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    meta = {"_meta": {"terminal_output": True, "terminal-auth": True}}
    answer = hello(kit, protocolVersion=1, clientCapabilities={**caps, **meta})
    told = answer.get("result", {}).get("authMethods") or []
    usable = [way for way in told if way.get("type", "agent") in {"agent", "terminal"}]
    expect(usable, f"authMethods is {told}")
