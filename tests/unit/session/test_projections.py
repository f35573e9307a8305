"""Driving folds, their checkpoints and their way back (C71), and the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import TextBlock
from acp_server.session.events import SessionEvent
from acp_server.session.log import MemoryLog
from acp_server.session.projections import CheckpointRow, ProjectionSet
from acp_server.session.stats import StatsProjection
from tests.support.story import Story, events_of, session, user


@dataclass
class Turns:
    """Lists the turns that began, and counts how often it was asked."""

    version: int = 1
    key: str = "turns"
    asked: int = 0

    def initial(self) -> JsonValue:
        return ()

    def apply(self, state: JsonValue, event: SessionEvent) -> JsonValue:
        assert isinstance(state, tuple)
        assert event.type != "assistant/chunk"
        self.asked += 1
        return (*state, event.data["turn"]) if event.type == "turn/start" else state

    def view(self, state: JsonValue) -> JsonValue:
        assert isinstance(state, tuple)
        return {"turns": state}


def test_a_state_is_built_when_it_is_asked_for_and_follows() -> None:
    story, turns = Story(), Turns()
    projections = ProjectionSet(story.session.events)
    projections.register(turns)
    story.session.observe(projections.notify)
    story.whole()
    assert turns.asked == 0
    assert projections.views() == {"turns": {"turns": (1,)}}
    asked = turns.asked
    story.whole("m2")
    assert projections.view("turns") == {"turns": (1, 2)}
    milestones = sum(1 for event in story.session.events.since(0) if event.type != "assistant/chunk")
    assert turns.asked == milestones > asked


def test_listeners_hear_of_changes_only() -> None:
    story, heard = Story(), list[tuple[str, JsonValue, int]]()
    projections = ProjectionSet(story.session.events)
    projections.register(Turns())
    end = projections.listen(lambda key, view, seq: heard.append((key, view, seq)))
    story.session.observe(projections.notify)
    story.whole()
    assert heard == []
    projections.view("turns")
    seq = story.session.seq + 1
    story.whole("m2")
    assert heard == [("turns", {"turns": (1, 2)}, seq)]
    end()
    story.whole("m3")
    assert len(heard) == 1


def test_one_key_may_be_registered_several_times_under_one_version() -> None:
    projections = ProjectionSet(MemoryLog())
    first, second = projections.register(Turns()), projections.register(Turns())
    with pytest.raises(ServerError) as caught:
        projections.register(Turns(version=2))
    assert caught.value.code == "PROJECTION_CONFLICT"
    first()
    assert projections.view("turns") == {"turns": ()}
    second()
    with pytest.raises(ServerError) as caught:
        projections.view("turns")
    assert caught.value.code == "UNKNOWN_PROJECTION"


class TestCheckpoint:
    def restored(self, row: CheckpointRow, turns: Turns) -> JsonValue:
        projections = ProjectionSet(MemoryLog(events_of(Story().whole().whole("m2"))))
        projections.register(turns)
        projections.restore({"turns": row})
        return projections.view("turns")

    def test_it_holds_every_state_as_of_the_last_event(self) -> None:
        story = Story().whole()
        projections = ProjectionSet(story.session.events)
        projections.register(Turns())
        assert projections.checkpoint() == {"turns": CheckpointRow(1, story.session.seq - 1, (1,))}

    def test_only_what_came_after_it_is_folded(self) -> None:
        turns = Turns()
        length = Story().whole().session.seq
        assert self.restored(CheckpointRow(1, length - 1, (7,)), turns) == {"turns": (7, 2)}
        assert turns.asked < length

    @pytest.mark.parametrize(
        "row", [CheckpointRow(2, 3, (7,)), CheckpointRow(1, 9999, (7,)), CheckpointRow(1, -2, (7,))]
    )
    def test_a_row_that_does_not_fit_is_left_out(self, row: CheckpointRow) -> None:
        assert self.restored(row, Turns()) == {"turns": (1, 2)}

    def test_a_row_of_an_empty_log_fits(self) -> None:
        assert self.restored(CheckpointRow(1, -1, ()), Turns()) == {"turns": (1, 2)}


def stats(story: Story) -> Any:
    projections = ProjectionSet(story.session.events)
    projections.register(StatsProjection())
    return projections.view("stats")


def test_an_empty_log_counts_nothing() -> None:
    assert stats(Story()) == {
        "prompts": 0,
        "turns": 0,
        "steps": 0,
        "toolCalls": 0,
        "retries": 0,
        "inputTokens": 0,
        "outputTokens": 0,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "reasoningTokens": 0,
        "updatedAt": None,
    }


def test_everything_that_happened_counts() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    story.result("c1")
    story.close_step()
    story.open_step()
    story.say({**user("ctx"), "source": {"kind": "plugin", "plugin": "p"}})
    failed: dict[str, Any] = {"usage": {"inputTokens": 10, "outputTokens": 1}}
    place: dict[str, Any] = {"retryId": "x", "turn": 1, "step": 2, "retry": 1}
    story.session.append("llm/retry", {**place, "delayMs": 1, "failure": {}, **failed})
    story.session.append("llm/retry-started", place)
    usage = {"inputTokens": 5, "outputTokens": 4, "cacheReadTokens": 3, "cacheWriteTokens": 2, "reasoningTokens": 1}
    story.answer(TextBlock("x"), usage=usage)
    story.close_step()
    story.close_turn()
    story.begin("m2")
    story.close_step()
    story.close_turn("error", usage={"inputTokens": 1, "outputTokens": -1})
    last = story.session.events[story.session.seq - 1]
    counted = stats(story)
    assert counted == {
        "prompts": 2,
        "turns": 2,
        "steps": 3,
        "toolCalls": 1,
        "retries": 1,
        "inputTokens": 15,
        "outputTokens": 5,
        "cacheReadTokens": 3,
        "cacheWriteTokens": 2,
        "reasoningTokens": 1,
        "updatedAt": last.time,
    }
    again = Story(session(MemoryLog(events_of(story)), seeded=True))
    assert again.session.events[again.session.seq - 1].type == "session/end-seed"
    assert stats(again) == counted
