"""session/cancel and $/cancel_request (clauses C-01 to C-13, T-70 to T-74)."""

from __future__ import annotations

import time

from tests.conformance.check import NotJudgedError, expect, must, should
from tests.conformance.checks.probe import expect_answers, note
from tests.conformance.kit import ALLOWING, Done, Kit, got, updates
from tests.support.client import Client

CANCELLED = -32800
PROMPT_SECONDS = 3.0
"""A clause says half a second; a machine under load gets more."""
RACES = 15
ENDED = {"completed", "failed"}


def hanging(kit: Kit, client: Client, session: str) -> int:
    """Return the id of a prompt whose model has begun and says nothing more."""
    ident = kit.ask(client, session, {"text": "Begun. ", "hang": True})
    client.wait_update("agent_message_chunk", after=_sent(client, ident), seconds=kit.seconds)
    return ident


def _sent(client: Client, ident: int) -> int:
    return client.turn(ident).sent


def cancel(kit: Kit, client: Client, session: str, ident: int) -> tuple[Done, float]:
    """Cancel and return what came of the prompt, and after how many seconds."""
    start = time.monotonic()
    client.notify("session/cancel", {"sessionId": session})
    return kit.done(client, ident), time.monotonic() - start


@must("C-01", "a cancelled prompt is answered by the stop reason cancelled, wherever its turn is")
def cancelled(kit: Kit) -> None:
    client, session = kit.pair(answerers={"session/request_permission": lambda _: None})
    places = {"streaming": [{"text": "Begun.", "hang": True}], "waiting": [{"text": "", "hang": True}]}
    try:
        places["a command"] = [kit.tool("shell", command="sleep 60")]
        places["a question"] = [kit.tool("write_file", path="asked.txt", content="x")]
    except NotJudgedError:
        kit.scripted()
    for place, answers in places.items():
        ident = kit.ask(client, session, *answers)
        kit.settle(client)
        done, _ = cancel(kit, client, session, ident)
        expect(done.stop == "cancelled", f"{place}: the prompt is answered by {done.answer}")


@must("C-02", "nothing of the turn follows that answer")
def quiet(kit: Kit) -> None:
    client, session = kit.pair()
    done, _ = cancel(kit, client, session, hanging(kit, client, session))
    kit.settle(client)
    late = [u["sessionUpdate"] for u in updates(client, session, done.turn.last + 1)]
    expect(not {"agent_message_chunk", "tool_call", "tool_call_update"} & set(late), f"{late} follow")


@should("C-03", "open tool calls are closed before that answer")
def closed(kit: Kit) -> None:
    client, session = kit.pair(answerers=ALLOWING)
    ident = kit.ask(client, session, kit.tool("shell", command="sleep 60"))
    client.wait_update("tool_call", seconds=kit.seconds)
    kit.settle(client)
    done, _ = cancel(kit, client, session, ident)
    left = [call.status for call in done.calls() if call.status not in ENDED]
    expect(not left, f"a call stays {left}")


@must("C-04", "the end does not wait for the client's answers")
def mute(kit: Kit) -> None:
    client, session = kit.pair(answerers={"session/request_permission": lambda _: None})
    ident = kit.ask(client, session, kit.tool("write_file", path="mute.txt", content="x"))
    kit.question(client, ident)
    done, took = cancel(kit, client, session, ident)
    expect(done.stop == "cancelled", f"the prompt is answered by {done.answer}")
    expect(took < kit.within(PROMPT_SECONDS), f"after {took:.1f} s")


@must("C-05", "commands that run are ended with all that they started")
def commands(kit: Kit) -> None:
    client, session = kit.pair(answerers=ALLOWING)
    begun, late = kit.project / "begun.txt", kit.project / "late.txt"
    command = f"(sleep 4; echo late > {late.name}) & echo begun > {begun.name}; sleep 60"
    ident = kit.ask(client, session, kit.tool("shell", command=command))
    if not client.trace.wait(begun.exists, kit.seconds):
        cancel(kit, client, session, ident)
        raise NotJudgedError("the command does not start")
    cancel(kit, client, session, ident)
    time.sleep(5)
    expect(not late.exists(), "what it started went on")


@must("C-07", "cancelling nothing has no effect and no answer")
def nothing(kit: Kit) -> None:
    client, session = kit.session()
    expect_answers(kit, note("session/cancel", params={"sessionId": "nobody"}))
    expect_answers(kit, note("session/cancel", params={"sessionId": session}))
    expect_answers(kit, note("session/cancel", params={"sessionId": session}))
    kit.ping(client)


@must("C-08", "the answer comes soon although the provider hangs")
def soon(kit: Kit) -> None:
    client, session = kit.pair()
    done, took = cancel(kit, client, session, hanging(kit, client, session))
    expect(done.stop == "cancelled", f"the prompt is answered by {done.answer}")
    expect(took < kit.within(PROMPT_SECONDS), f"after {took:.1f} s")


@must("C-09", "the session is usable right after")
def usable(kit: Kit) -> None:
    client, session = kit.pair()
    cancel(kit, client, session, hanging(kit, client, session))
    done = kit.turn(client, session, {"text": "Here again."})
    expect((done.stop, done.said) == ("end_turn", "Here again."), f"the next prompt: {done.answer}, {done.said!r}")


@must("C-10", "a cancel that races the end yields one answer")
def race(kit: Kit) -> None:
    client, session = kit.pair()
    for n in range(RACES):
        ident = kit.ask(client, session, {"text": "Good.", "chunks": 5, "delay_ms": 2})
        time.sleep(n * 0.004)
        done, _ = cancel(kit, client, session, ident)
        expect(done.stop in {"end_turn", "cancelled"}, f"the prompt is answered by {done.answer}")
    kit.settle(client)
    for turn in client.trace.turns():
        count = len(client.trace.answers(turn.id))
        expect(count == 1, f"a prompt has {count} answers")


@must("C-11", "extra params of a cancel are ignored")
def extra(kit: Kit) -> None:
    client, session = kit.pair()
    ident = hanging(kit, client, session)
    client.notify("session/cancel", {"sessionId": session, "reason": "user", "_meta": {}})
    done = kit.done(client, ident)
    expect(done.stop == "cancelled", f"the prompt is answered by {done.answer}")


@must("C-12", "other sessions go on")
def others(kit: Kit) -> None:
    client, session = kit.pair()
    other = kit.new(client)
    running = kit.ask(client, other, {"text": "On and on. " * 20, "chunks": 20, "delay_ms": 30})
    cancel(kit, client, session, hanging(kit, client, session))
    done = kit.done(client, running)
    expect((done.stop, done.said) == ("end_turn", "On and on. " * 20), f"the other turn: {done.answer}")


# -- $/cancel_request


@must("T-70", "an unknown requestId is ignored")
def unknown_request(kit: Kit) -> None:
    expect_answers(kit, note("$/cancel_request", params={"requestId": 424242}))
    expect_answers(kit, note("$/cancel_request", params={"requestId": "odd"}))


@must("T-71", "the request that it names gets one answer")
def named(kit: Kit) -> None:
    client, session = kit.pair()
    ident = hanging(kit, client, session)
    client.notify("$/cancel_request", {"requestId": ident})
    client.answer(ident, kit.seconds)
    client.notify("$/cancel_request", {"requestId": ident})
    kit.settle(client)
    count = len(client.trace.answers(ident))
    expect(count == 1, f"it gets {count}")


@should("T-72", "on a prompt it acts as session/cancel")
def on_a_prompt(kit: Kit) -> None:
    client, session = kit.pair()
    ident = hanging(kit, client, session)
    client.notify("$/cancel_request", {"requestId": ident})
    done = kit.done(client, ident)
    expect(done.stop in {"cancelled", CANCELLED}, f"the prompt is answered by {done.answer}")


@should("T-73", "cancelled work cancels the requests of the agent that belong to it")
def cascade(kit: Kit) -> None:
    client, session = kit.pair(answerers={"session/request_permission": lambda _: None})
    ident = kit.ask(client, session, kit.tool("write_file", path="asked.txt", content="x"))
    kit.question(client, ident)
    cancel(kit, client, session, ident)
    kit.settle(client)
    named_ids = [f.value["params"]["requestId"] for f in got(client) if f.value.get("method") == "$/cancel_request"]
    expect(client.questions[0]["id"] in named_ids, "the open question is not")
