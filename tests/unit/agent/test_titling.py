"""What a model is told when it is asked for a title, what of its answer counts, and what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_server.agent.titling import INPUT_BYTES, Titling, framed, prepare, title_in
from acp_server.base.cancel import BY_USER
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.blocks import text_of
from acp_server.messages.chunks import FinishChunk, TextDelta, TokenUsage, UsageChunk
from acp_server.messages.request import CallConfig
from acp_server.session.projections import ProjectionSet
from acp_server.session.usage import UsageProjection
from tests.support.rig import HANG, STOP, ChunkModel, Rig, text


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Porting the parser", "Porting the parser"),
        ('\n  "Porting the parser".\nBecause', "Porting the parser"),
        ("**移植解析器。**", "移植解析器"),
        ("# Fix `.env`", "Fix `.env"),
        ("\x1b[31mRed\x1b[0m", "Red"),
        ("word " * 40, "word word word word word word word word word word word word word word word word"),
        ("", ""),
        ('"."\n', ""),
    ],
)
def test_the_first_line_of_an_answer_is_the_title(answer: str, title: str) -> None:
    assert title_in(answer) == title


def test_what_a_model_is_told_is_bounded_and_whole_json() -> None:
    assert json.loads(framed([(3, "one"), (9, "two")])) == [{"seq": 3, "text": "one"}, {"seq": 9, "text": "two"}]
    for word in ("x", "\\", "字", "\x00"):
        cut = framed([(3, word * 9000), (9, "two")])
        assert len(cut.encode()) <= INPUT_BYTES
        [only] = json.loads(cut)
        assert only["seq"] == 3
        assert only["text"] == word * len(only["text"])
        assert len(cut.encode()) > INPUT_BYTES // 2


class Facts(ChunkModel):
    """A model of which only facts are asked."""

    def __init__(self, **facts: Any) -> None:
        super().__init__([])
        self.facts = facts

    def model(self, provider: str, model: str) -> ModelInfo:
        return ModelInfo(provider, model, model, **self.facts)


@pytest.mark.parametrize(
    ("facts", "effort", "most"),
    [
        ({}, None, 64),
        ({"efforts": ("off", "high"), "default_effort": "high"}, "off", 64),
        ({"efforts": ("low", "high"), "default_effort": "high"}, "low", 2112),
        ({"efforts": ("low",), "max_output_tokens": 500}, "low", 500),
    ],
)
def test_a_title_is_asked_for_with_the_least_reasoning(facts: dict[str, Any], effort: str | None, most: int) -> None:
    runtime = LlmRuntime()
    runtime.register(["play"], Facts(**facts))
    assert prepare(runtime, "play", "m").config == CallConfig("play", "m", effort, max_tokens=most)


def watched(rig: Rig) -> Titling:
    """Let the rig's model be asked for the session's title."""
    runtime = LlmRuntime()
    runtime.register(["play"], rig.model)

    async def ready() -> LlmRuntime:
        return runtime

    titling = Titling(rig.session, None, ready, rig.journal, rig.ids, rig.reported.append)
    titling.watch()
    return titling


async def test_what_a_title_used_counts_for_the_model_that_gave_it() -> None:
    rig = Rig([text("Good day."), (TextDelta(0, "Greeting"), UsageChunk(TokenUsage(40, 3)), STOP)])
    titling = watched(rig)
    await rig.run("Hello there")
    assert titling.task is not None
    await titling.task
    events = list(rig.session.events.since(0))
    [request] = [event for event in events if event.type == "session/title-llm-request"]
    words, title = (event for event in events if event.type == "session/title")
    assert words.seq < request.seq < title.seq
    assert max(rig.journal.flushed) > request.seq
    assert title.data == {
        "title": "Greeting",
        "messageSeqs": words.data["messageSeqs"],
        "source": {"kind": "provider", "provider": "play", "model": "m"},
        "usage": {"inputTokens": 40, "outputTokens": 3},
    }
    projections = ProjectionSet(rig.session.events)
    projections.register(UsageProjection())
    view: Any = projections.view("usage")
    assert view["models"]["play/m"]["inputTokens"] == 40
    assert rig.reported == []


async def test_a_refused_answer_is_reported_and_costs_nothing_else() -> None:
    rig = Rig([text("Good day."), text("", FinishChunk("refusal"))])
    titling = watched(rig)
    await rig.run("Hello there")
    assert titling.task is not None
    await titling.task
    assert [str(error) for error in rig.reported] == ["The answer is no title: it ended with refusal."]
    assert rig.types().count("session/title") == 1
    await titling.close()


async def test_a_cancelled_answer_does_not_count() -> None:
    rig = Rig([(TextDelta(0, "Good"), HANG), text("Yes."), text("Greeting")])
    titling = watched(rig)
    rig.say("Hello there")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert (titling.begun, titling.task) == (True, None)
    await rig.run("Again")
    assert titling.task is not None
    await titling.task
    told = rig.model.asked[-1]
    assert [each["text"] for each in json.loads(text_of(told.messages[0].content))] == ["Hello there", "Again"]
    assert (told.purpose, told.tools) == ("session-title", ())
