"""Questions of the model to the person, and its plan (clauses E-02 to E-09, U-02, U-03)."""

from __future__ import annotations

from tests.conformance.check import NotJudgedError, expect, must, no_faults, should
from tests.conformance.kit import ALLOWING, Done, Kit
from tests.support.client import Answerer, Client
from tests.support.trace import Obj

FORM = "elicitation/create"
FORMS: Obj = {"elicitation": {"form": {}}}
FIELD_TYPES = frozenset({"string", "number", "integer", "boolean", "array"})


def asking(kit: Kit, answer: Answerer, capabilities: Obj | None = None) -> tuple[Client, Done]:
    """Have a turn in which the model asks the person, and return what came of it."""
    client, session = kit.pair(FORMS if capabilities is None else capabilities, {FORM: answer, **ALLOWING})
    question = kit.tool("ask", question="Which colour?", options=[{"label": "Red"}, {"label": "Blue"}])
    return client, kit.turn(client, session, question, {"text": "Done."})


def forms(client: Client) -> list[Obj]:
    found = [question["params"] for question in client.questions if question["method"] == FORM]
    if not found:
        raise NotJudgedError("it asks by no form")
    return found


def declining(_: Obj) -> Obj:
    return {"result": {"action": "decline"}}


@must("E-02", "a form is flat")
def flat(kit: Kit) -> None:
    client, _ = asking(kit, declining)
    fields = [f for form in forms(client) for f in form["requestedSchema"].get("properties", {}).items()]
    no_faults(
        f"{name} is of the type {field.get('type')}" for name, field in fields if field.get("type") not in FIELD_TYPES
    )


@must("E-03", "a form names its session or a request, not both")
def scope(kit: Kit) -> None:
    client, _ = asking(kit, declining)
    for form in forms(client):
        expect(("sessionId" in form) != ("requestId" in form), f"it names {sorted(form)}")


@must("E-04", "declining and unknown actions are no answer, the model is told, the turn goes on")
def no_answer(kit: Kit) -> None:
    for body in ({"action": "decline"}, {"action": "cancel"}, {"action": "shrug"}, {"action": "accept", "content": {}}):
        client, done = asking(kit, lambda _, body=body: {"result": body})  # type: ignore[misc]  # bound at once
        forms(client)
        expect((done.stop, done.said) == ("end_turn", "Done."), f"{body}: the prompt is answered by {done.answer}")


@should("E-07", "without forms the question is asked in another way")
def otherwise(kit: Kit) -> None:
    client, done = asking(kit, declining, {})
    expect(FORM not in {q["method"] for q in client.questions}, "a form is sent to a client that takes none")
    expect(done.stop == "end_turn", f"the prompt is answered by {done.answer}")


@must("E-09", "cancelling the turn ends the question")
def cancelled(kit: Kit) -> None:
    client, session = kit.pair(FORMS, {FORM: lambda _: None})
    question = kit.tool("ask", question="Which colour?", options=[{"label": "Red"}])
    ident = kit.ask(client, session, question)
    kit.question(client, ident)
    client.notify("session/cancel", {"sessionId": session})
    done = kit.done(client, ident)
    expect(done.stop == "cancelled", f"the prompt is answered by {done.answer}")


def plans(kit: Kit) -> list[list[Obj]]:
    """Return the plans of a turn in which the model writes two."""
    client, session = kit.pair()
    steps = [{"content": "one", "status": "in_progress"}, {"content": "two", "status": "pending"}]
    later = [{"content": "one", "status": "completed"}, {"content": "two", "status": "completed"}]
    calls = (kit.tool("todo", todos=steps), kit.tool("todo", todos=later))
    done = kit.turn(client, session, *calls, {"text": "Done."})
    return [update["entries"] for update in done.updates("plan")]


@must("U-02", "a plan has its whole list each time")
def whole_plans(kit: Kit) -> None:
    found = [[entry.get("content") for entry in entries] for entries in plans(kit)]
    expect(len(found) >= 2 and all(entries == ["one", "two"] for entries in found), f"two plans come as {found}")


@should("U-03", "one entry of a plan is in progress at most, none after the turn")
def steps(kit: Kit) -> None:
    found = [[entry.get("status") for entry in entries] for entries in plans(kit)]
    expect(found and "in_progress" not in found[-1], f"the last plan is {found[-1:]}")
    expect(all(entries.count("in_progress") <= 1 for entries in found), f"{found}")
