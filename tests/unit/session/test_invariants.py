"""What may follow what, rule by rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acp_server.base.errors import ServerError
from acp_server.messages.blocks import TextBlock, ToolCallBlock
from acp_server.messages.chunks import TextDelta
from acp_server.session.events import Replace, SessionEvent
from acp_server.session.invariants import Invariants, check_log
from tests.support.story import Story, events_of, session, user


def in_turn() -> Story:
    story = Story()
    story.open_turn()
    return story


def in_step() -> Story:
    story = in_turn()
    story.open_step()
    return story


def moved(story: Story, turn: int, step: int) -> Story:
    story.turn, story.step = turn, step
    return story


BREACHES: dict[str, tuple[Callable[[], Story], Callable[[Story], object]]] = {
    "turns count from one": (lambda: moved(Story(), 1, 0), Story.open_turn),
    "turns leave none out": (lambda: moved(Story().whole(), 2, 0), Story.open_turn),
    "one turn is open": (in_turn, Story.open_turn),
    "a turn ends once": (lambda: Story().whole(), Story.close_turn),
    "a turn ends under its number": (lambda: moved(in_turn(), 2, 0), Story.close_turn),
    "a turn leaves no step open": (in_step, Story.close_turn),
    "a step is in a turn": (lambda: moved(Story(), 1, 0), Story.open_step),
    "one step is open": (in_step, Story.open_step),
    "steps leave none out": (lambda: moved(in_turn(), 1, 1), Story.open_step),
    "a step ends once": (lambda: moved(in_turn(), 1, 1), Story.close_step),
    "a step ends under its number": (lambda: moved(in_step(), 1, 2), Story.close_step),
    "a chunk names its step": (lambda: moved(in_step(), 1, 2), lambda story: story.stream(TextDelta(0, "x"))),
    "a chunk is in a step": (lambda: moved(in_turn(), 1, 1), lambda story: story.stream(TextDelta(0, "x"))),
    "an answer is in a step": (lambda: moved(in_turn(), 1, 1), lambda story: story.answer(TextBlock("x"))),
    "a call is in a step": (lambda: moved(in_turn(), 1, 1), lambda story: story.call("c")),
    "a result answers a call": (in_step, lambda story: story.result("c")),
    "a result's call is of its step": (
        lambda: _next_step(Story().with_calls("c")),
        lambda story: story.result("c"),
    ),
    "a header is in a turn": (Story, Story.ask),
    "a context is in a turn": (Story, Story.context),
    "a plan is in a turn": (Story, lambda story: story.session.append("todo/write", {"todos": []})),
    "a result is rewritten in a turn": (
        lambda: _with_result(closed=True),
        lambda story: story.rewrite_last("c"),
    ),
}


def _next_step(story: Story) -> Story:
    story.call("c")
    story.close_step()
    story.open_step()
    return story


def _with_result(*, closed: bool) -> Story:
    story = Story().with_calls("c")
    story.call("c")
    story.result("c")
    story.close_step()
    if closed:
        story.close_turn()
    return story


@pytest.mark.parametrize(("given", "breach"), BREACHES.values(), ids=BREACHES.keys())
def test_a_breach_is_refused(given: Callable[[], Story], breach: Callable[[Story], object]) -> None:
    story = given()
    before = story.session.seq
    with pytest.raises(ServerError) as caught:
        breach(story)
    assert (caught.value.code, story.session.seq) == ("INVARIANT_VIOLATED", before)


def test_what_is_free_is_free_everywhere() -> None:
    story = Story()
    story.say(user("m"))
    story.session.append("session/end-seed", {})
    story.session.append("plug/in", {}, ignorable=True)
    assert story.session.seq == 3


def test_a_call_that_was_not_started_may_be_answered() -> None:
    story = in_step()
    story.answer(ToolCallBlock("c", "read", "{}"))
    assert story.result("c", error={"code": "TOOL_NOT_STARTED"}).seq == 3


def test_a_result_may_be_rewritten_between_steps() -> None:
    assert _with_result(closed=False).rewrite_last("c").seq == 16


def test_an_answer_that_replaces_needs_no_step() -> None:
    story = Story().whole()
    first, last = story.session.surface.nodes
    data = story.session.events[last].data
    empty = {**data, "message": {**data["message"], "id": "gone", "content": []}}  # type: ignore[dict-item]  # an object
    story.session.append("assistant/message", empty, surface_op=Replace(first, last), sources=[first, last])
    assert story.session.messages() == ()


def test_seqs_rise() -> None:
    events = events_of(Story().whole())
    with pytest.raises(ServerError, match="comes after event 1"):
        check_log([events[0], events[1], events[0]])


def test_an_event_that_another_validator_refused_leaves_no_trace() -> None:
    told, refusing = session(strict=False), [True]
    told.validate(Invariants().check)

    def veto(_event: SessionEvent) -> None:
        if refusing[0]:
            raise ServerError("VETO", "no")

    told.validate(veto)
    for _ in range(2):
        with pytest.raises(ServerError, match="no"):
            told.append("turn/start", {"turn": 1})
    refusing[0] = False
    told.append("turn/start", {"turn": 1})
    told.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    assert told.seq == 2
