"""Append and replace on the Surface (C8 to C11)."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import FrozenObject
from acp_server.messages.blocks import TextBlock
from acp_server.session.events import APPEND, Replace, SessionEvent, SurfaceOp
from acp_server.session.log import MemoryLog
from acp_server.session.surface import Plan, Surface, fold_surface
from tests.support.story import Story, session, user


def messages(number: int) -> Story:
    story = Story()
    for at in range(number):
        story.say(user(f"m{at}"))
    return story


def nodes(story: Story) -> tuple[int, ...]:
    return story.session.surface.nodes


def refusal(story: Story, kind: str, data: Any, **options: Any) -> str:
    """Return the code of a refused append, after a look that it has left nothing behind."""
    surface = story.session.surface
    before = (story.session.seq, surface.nodes, surface.replace_generation, story.session.messages())
    with pytest.raises(ServerError) as caught:
        story.session.append(kind, data, **options)
    assert (story.session.seq, surface.nodes, surface.replace_generation, story.session.messages()) == before
    return caught.value.code


def test_a_marker_is_needed_on_three_types_and_refused_elsewhere() -> None:
    story = messages(1)
    assert refusal(story, "user/message", user("x")) == "SURFACE_OP_REQUIRED"
    assert refusal(story, "plan/mode", {"active": True}, surface_op=APPEND) == "SURFACE_OP_NOT_ALLOWED"
    assert refusal(story, "plan/mode", {"active": True}, sources=[0]) == "SURFACE_OP_NOT_ALLOWED"
    chunk = {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": ""}}
    assert refusal(story, "assistant/chunk", chunk, surface_op=APPEND) == "SURFACE_OP_NOT_ALLOWED"
    assert refusal(story, "assistant/chunk", chunk, sources=[]) == "SURFACE_OP_NOT_ALLOWED"


@pytest.mark.parametrize(
    "sources", [[0, 0], [2], [3], [-1], [True], [1.0], ["0"], []], ids=["twice", "own", "later", *"abcd", "empty"]
)
def test_sources_are_distinct_earlier_events(sources: list[Any]) -> None:
    assert refusal(messages(2), "user/message", user("x"), surface_op=APPEND, sources=sources) == "INVALID_SOURCES"


def test_an_answer_may_say_that_its_stream_was_empty() -> None:
    story = Story().begin()
    answer = story.answer(TextBlock("a"))
    assert answer.source_event_seqs == ()


def test_replace_takes_the_place_of_its_range() -> None:
    story = messages(5)
    story.replace(1, 3, user("c"))
    assert nodes(story) == (0, 5, 4)
    assert story.session.surface.replace_generation == 1
    assert (len(story.session.surface), 5 in story.session.surface, 2 in story.session.surface) == (3, True, False)


def test_a_range_goes_by_position_not_by_number() -> None:
    story = messages(4)
    story.replace(0, 1, user("c"))
    assert nodes(story) == (4, 2, 3)
    story.replace(4, 2, user("d"))
    assert nodes(story) == (5, 3)
    assert story.session.surface.replace_generation == 2


def test_the_first_the_last_and_the_only_node_can_be_replaced() -> None:
    story = messages(3)
    story.replace(2, 2, user("c"))
    story.replace(0, 0, user("d"))
    assert nodes(story) == (4, 1, 3)
    story.replace(4, 3, user("e"))
    assert nodes(story) == (5,)
    story.say(user("f"))
    assert nodes(story) == (5, 6)


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        (3, 1, "RANGE_INVERTED"),
        (1, 0, "RANGE_INVERTED"),
        (4, 0, "RANGE_INVERTED"),
        (4, 3, "RANGE_INVERTED"),
        (0, 9, "NOT_ON_SURFACE"),
        (9, 0, "NOT_ON_SURFACE"),
        (-1, 0, "NOT_ON_SURFACE"),
        (0, -1, "NOT_ON_SURFACE"),
    ],
)
def test_a_range_has_to_be_one(start: int, end: int, code: str) -> None:
    sources = list(range(5))
    assert refusal(messages(5), "user/message", user("c"), surface_op=Replace(start, end), sources=sources) == code


def test_a_node_that_was_replaced_is_gone() -> None:
    story = messages(3)
    story.replace(0, 1, user("c"))
    options = {"surface_op": Replace(0, 2), "sources": [0, 1, 2, 3]}
    assert refusal(story, "user/message", user("d"), **options) == "NOT_ON_SURFACE"


def test_sources_cover_what_is_replaced() -> None:
    story = messages(4)
    options = {"surface_op": Replace(1, 3)}
    for sources in (None, [1, 2], [1, 3]):
        assert refusal(story, "user/message", user("c"), sources=sources, **options) == "SOURCES_INCOMPLETE"
    story.replace(1, 3, user("c"), 0)
    assert nodes(story) == (0, 4)


def test_an_answer_without_content_takes_a_range_away() -> None:
    story = Story().begin()
    answer = story.answer(TextBlock("no"))
    data = {**answer.data, "message": {**answer.data["message"], "id": "gone", "content": []}}  # type: ignore[dict-item]  # an object
    story.session.append("assistant/message", data, surface_op=Replace(answer.seq, answer.seq), sources=[answer.seq])
    assert nodes(story) == (4, answer.seq + 1)
    assert [message.id for message in story.session.messages()] == ["m1"]


class TestRewriteOfAToolResult:
    def story(self) -> Story:
        story = Story().with_calls("c1", "c2")
        story.call("c1")
        story.result("c1", content="long", meta={"lines": 1})
        story.call("c2")
        story.result("c2")
        return story

    def rewrite(self, story: Story, data: Any, *seqs: int) -> str:
        options = {"surface_op": Replace(seqs[0], seqs[-1]), "sources": list(seqs)}
        return refusal(story, "tool/result", data, **options)

    def test_only_the_content_may_change(self) -> None:
        story = self.story()
        *_, first, _ = story.session.surface.nodes
        data = story.result_data("c1", "short", meta={"lines": 1})
        story.session.append("tool/result", data, surface_op=Replace(first, first), sources=[first])
        assert story.session.surface.nodes[-2] == story.session.seq - 1

    @pytest.mark.parametrize(
        "change",
        [{"meta": {"lines": True}}, {"meta": {"lines": 2}}, {}, {"meta": {"lines": 1}, "error": {"code": "X"}}],
    )
    def test_anything_else_is_refused(self, change: dict[str, Any]) -> None:
        story = self.story()
        first = story.session.surface.nodes[-2]
        assert self.rewrite(story, story.result_data("c1", "short", **change), first) == "TOOL_RESULT_REWRITE"

    def test_the_call_stays_the_same(self) -> None:
        story = self.story()
        first = story.session.surface.nodes[-2]
        assert self.rewrite(story, story.result_data("c2", "short"), first) == "TOOL_RESULT_REWRITE"

    def test_it_covers_one_node(self) -> None:
        story = self.story()
        data = story.result_data("c1", "short", meta={"lines": 1})
        assert self.rewrite(story, data, *story.session.surface.nodes[-2:]) == "TOOL_RESULT_REWRITE"

    def test_it_replaces_a_tool_result(self) -> None:
        story = self.story()
        answer = story.session.surface.nodes[1]
        assert self.rewrite(story, story.result_data("c1", "short"), answer) == "TOOL_RESULT_REWRITE"


def event(seq: int, operation: SurfaceOp, *sources: int) -> SessionEvent:
    data = FrozenObject(user(f"m{seq}"))
    return SessionEvent("user/message", seq, 0, data, operation, sources or None)


def test_a_plan_changes_nothing_and_is_applied_once() -> None:
    log = MemoryLog([event(0, APPEND), event(1, APPEND)])
    surface = Surface(log)
    replacing = event(2, Replace(0, 1), 0, 1)
    plan = surface.plan(replacing)
    assert plan == Plan(2, places=True, removed=(0, 1))
    assert list(surface.nodes) == [0, 1]
    log.append(replacing)
    surface.apply(plan)
    surface.apply(plan)
    assert (list(surface.nodes), surface.replace_generation) == ([2], 1)


def test_a_surface_reads_what_was_appended_behind_its_back() -> None:
    log = MemoryLog([event(0, APPEND)])
    surface = Surface(log)
    assert list(surface.nodes) == [0]
    log.append(event(1, APPEND))
    log.append(event(2, Replace(0, 0), 0))
    assert (list(surface.nodes), surface.replace_generation) == ([2, 1], 1)


def test_a_stored_log_that_breaks_a_rule_is_refused() -> None:
    with pytest.raises(ServerError) as caught:
        session(MemoryLog([event(0, APPEND), event(1, Replace(0, 0))]), strict=False)
    assert (caught.value.code, caught.value.message[:8]) == ("SOURCES_INCOMPLETE", "event 1 ")


class CountingDict(dict[int, int]):
    """Counts every look at a node."""

    looks = 0

    def __getitem__(self, key: int) -> int:
        self.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("length", [100, 10_000])
@pytest.mark.parametrize("inverted", [False, True])
def test_a_replace_costs_its_range_only(length: int, *, inverted: bool) -> None:
    log = MemoryLog([event(seq, APPEND) for seq in range(length)])
    surface = Surface(log)
    surface.fold()
    links = surface._next = CountingDict(surface._next)
    start, end = (44, 40) if inverted else (40, 44)
    replacing = event(length, Replace(start, end), *range(40, 45))
    if inverted:
        with pytest.raises(ServerError):
            surface.plan(replacing)
    else:
        log.append(replacing)
        surface.fold()
    assert 0 < links.looks <= 12


def test_the_plain_fold_tells_what_was_shadowed() -> None:
    story = messages(4)
    story.replace(1, 2, user("c"))
    story.replace(0, 4, user("d"))
    folded, replacements = fold_surface(story.session.events.since(0))
    assert folded == (5, 3)
    assert [(one.seq, one.start, one.end, one.shadowed) for one in replacements] == [
        (4, 1, 2, (1, 2)),
        (5, 0, 4, (0, 4)),
    ]
