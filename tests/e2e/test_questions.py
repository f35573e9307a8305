"""A model asks the person, over real pipes (docs/others.md, clauses Q-1 to Q-5; docs/protocol.md, E-01 to E-09)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.stage import Stage, script, stop_reason
from tests.e2e.test_run import run
from tests.e2e.test_subagents import children, logged, results, task
from tests.support.client import Client
from tests.support.trace import Obj

FORM = "elicitation/create"
BUTTONS = "session/request_permission"
FORMS: Obj = {"elicitation": {"form": {}}}
QUESTION = "Which colour?"


def ask(*labels: str, **more: object) -> str:
    options = [{"label": label} for label in labels]
    return f"call ask {json.dumps({'question': QUESTION, 'options': options, **more})}"


def opened(stage: Stage, capabilities: Obj) -> tuple[Client, str]:
    client = stage.client()
    client.initialize(capabilities)
    return client, client.new_session(stage.project)


def told(stage: Stage, session: str) -> tuple[str, str | None]:
    (one,) = results(logged(stage, session)).values()
    return one


def answered(stage: Stage, session: str) -> list[Obj]:
    return [dict(event.data) for event in logged(stage, session) if event.type == "question/answered"]


@pytest.mark.parametrize(
    ("content", "said", "outcome"),
    [
        ({"choice": "Red"}, "The person answered: Red", {"outcome": "answered", "answer": ("Red",)}),
        ({"answer": " Teal "}, "The person answered: Teal", {"outcome": "answered", "answer": ("Teal",)}),
        ({"choice": "Black"}, "The person gave no answer. Go on with what you know, or say what you need.",
         {"outcome": "declined"}),
    ],
)  # fmt: skip
def test_a_form_is_shown_where_there_are_some_and_its_answer_is_kept(
    stage: Stage, content: Obj, said: str, outcome: Obj
) -> None:
    client, session = opened(stage, FORMS)
    client.answerers[FORM] = lambda _request: {"result": {"action": "accept", "content": content}}
    _, turn = client.prompt(session, script(ask("Red", "Blue"), "step", "say ok"))
    (request,) = [frame.value for frame in client.trace.frames if frame.value.get("method") == FORM]
    asked: Any = request["params"]
    assert (asked["mode"], asked["message"], asked["toolCallId"]) == ("form", QUESTION, client.calls(turn)[0].id)
    assert [one["const"] for one in asked["requestedSchema"]["properties"]["choice"]["oneOf"]] == ["Red", "Blue"]
    (kept,) = answered(stage, session)
    assert (told(stage, session), {**kept, "id": ""}) == ((said, None), {"id": "", **outcome})


def test_without_forms_choices_are_buttons_and_other_questions_are_text(stage: Stage) -> None:
    client, session = opened(stage, {})
    client.answerers[BUTTONS] = lambda _request: {"result": {"outcome": {"outcome": "selected", "optionId": "1"}}}
    client.prompt(session, script(ask("Red", "Blue"), "step", ask(), "step", "say ok"))
    (question,) = client.questions
    names = [(option["name"], option["kind"]) for option in question["params"]["options"]]
    assert names == [("Red", "allow_once"), ("Blue", "allow_once"), ("No answer", "reject_once")]
    first, second = results(logged(stage, session)).values()
    assert first == ("The person answered: Blue", None)
    assert second[0].startswith("This question cannot be shown as a form here. Ask it in words")


def test_cancelling_ends_a_question_and_a_late_answer_is_nothing(stage: Stage) -> None:
    client, session = opened(stage, FORMS)
    client.answerers[FORM] = lambda _request: None
    ident = client.ask(session, script(ask(), "step", "say never"))

    def asked() -> list[Obj]:
        return [frame.value for frame in client.trace.frames if frame.value.get("method") == FORM]

    assert client.trace.wait(asked, 30)
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident)) == "cancelled"
    late = {"jsonrpc": "2.0", "id": asked()[0]["id"], "result": {"action": "accept", "content": {"answer": "late"}}}
    client.send_line(json.dumps(late).encode())
    client.prompt(session, script("say on"))
    assert [one["outcome"] for one in answered(stage, session)] == ["cancelled"]
    assert told(stage, session)[1] == "ABORTED"


def test_nobody_is_there_in_a_run_and_for_a_sub_agent(stage: Stage) -> None:
    lines = (ask("Red"), "step", task("Asks", ask("Red"), "step", "say no"), "step", "say ok")
    assert run(stage, script(*lines)).returncode == 0
    said = [told for one in children(stage) for told in results(logged(stage, str(one["id"]))).values()]
    nobody = "Error: nobody is there to answer; decide yourself and say what you took for granted"
    assert said == [(nobody, "NOBODY_THERE"), ("no", None), (nobody, "NOBODY_THERE")]
