"""authenticate and logout (clauses A-01 to A-17)."""

from __future__ import annotations

import time

from tests.conformance.check import NotJudgedError, code_of, expect, must, should
from tests.conformance.checks.probe import PARAMS, expect_code
from tests.conformance.kit import AUTH_REQUIRED, Kit
from tests.support.client import Client
from tests.support.trace import Obj

QUICK_SECONDS = 2.0


def offered(kit: Kit, capabilities: Obj | None = None) -> list[Obj]:
    """Return the authMethods that a client with these capabilities is told."""
    client = kit.fresh(capabilities, greet=False)
    return list(kit.greet(client).get("authMethods") or [])


def kind(way: Obj) -> str:
    return str(way.get("type", "agent"))


def without_key(kit: Kit) -> tuple[Client, Obj]:
    """Return a fresh client and its answer to session/new, where no key is given; NotJudged when none is needed."""
    client = kit.fresh(env=kit.environment(model=False))
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": []})
    if "result" in answer:
        raise NotJudgedError("a session opens without a key")
    return client, answer


def sign_in(kit: Kit) -> str:
    if kit.options.sign_in is None:
        raise NotJudgedError("needs a method that asks nothing of a person: --sign-in")
    return kit.options.sign_in


@must("A-01", "an unknown method of authenticate is -32602")
def unknown(kit: Kit) -> None:
    expect_code(kit.call(kit.ordinary(), "authenticate", {"methodId": "no-such-way"}), PARAMS, "an unknown method")


@must("A-02", "a terminal method is none of authenticate")
def terminal(kit: Kit) -> None:
    capabilities = {"auth": {"terminal": True}}
    ways = [way["id"] for way in offered(kit, capabilities) if kind(way) == "terminal"]
    if not ways:
        raise NotJudgedError("there is no terminal method")
    client = kit.fresh(capabilities)
    answer = kit.call(client, "authenticate", {"methodId": ways[0]})
    expect(code_of(answer) != "result", f"authenticate {ways[0]} is answered by {answer}")


@must("A-03", "authenticate may be repeated and is quick")
def repeated(kit: Kit) -> None:
    way, client = sign_in(kit), kit.fresh()
    for _ in range(2):
        start = time.monotonic()
        kit.result(client, "authenticate", {"methodId": way})
        took = time.monotonic() - start
        expect(took < kit.within(QUICK_SECONDS), f"it takes {took:.1f} s")


@must("A-04", "the first method is of the type agent")
def first(kit: Kit) -> None:
    ways = offered(kit)
    if not ways:
        raise NotJudgedError("there are no methods")
    expect(kind(ways[0]) == "agent", f"it is {ways[0]}")


@must("A-05", "terminal methods are offered to clients that can run them only")
def gated(kit: Kit) -> None:
    ways = [way for way in offered(kit) if kind(way) == "terminal"]
    expect(not ways, f"a client without auth.terminal is offered {ways}")


@must("A-09", "without a key session/new is -32000")
def no_key(kit: Kit) -> None:
    _, answer = without_key(kit)
    expect_code(answer, AUTH_REQUIRED, "session/new without a key")


@should("A-10", "that error has the list of methods")
def told(kit: Kit) -> None:
    _, answer = without_key(kit)
    data = answer["error"].get("data")
    listed = data.get("authMethods") if isinstance(data, dict) else None
    expect(bool(listed) and listed == offered(kit), f"its data is {data}")


@must("A-12", "after authenticate the same connection opens sessions")
def opens(kit: Kit) -> None:
    way = sign_in(kit)
    client, _ = without_key(kit)
    kit.result(client, "authenticate", {"methodId": way})
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": []})
    expect("result" in answer, f"session/new after authenticate: {answer}")


@must("A-13", "logout may be repeated; after it sessions need a sign-in")
def out(kit: Kit) -> None:
    kit.need("auth.logout")
    kit.session()
    client = kit.fresh()
    for _ in range(2):
        kit.result(client, "logout", {})
    answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": []})
    expect_code(answer, AUTH_REQUIRED, "session/new after logout")


@should("A-14", "logout ends running turns as cancelled")
def out_of_a_turn(kit: Kit) -> None:
    kit.need("auth.logout")
    client, session = kit.pair()
    running = kit.ask(client, session, {"text": "", "hang": True})
    kit.settle(client)
    kit.result(client, "logout", {})
    done = kit.done(client, running)
    expect(done.stop == "cancelled", f"the turn is answered by {done.answer}")


@must("A-15", "the removed type env_var is not used")
def removed(kit: Kit) -> None:
    expect("env_var" not in map(kind, offered(kit)), "it is offered")


@should("A-17", "each method has an id, a name and a description")
def described(kit: Kit) -> None:
    ways = offered(kit)
    plain = [way for way in ways if not all(isinstance(way.get(key), str) for key in ("id", "name", "description"))]
    expect(not plain, f"{plain}")
