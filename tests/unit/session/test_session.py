"""The one way into a log (C1 to C5, C7)."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import FrozenObject, JsonError
from acp_server.messages.blocks import TextBlock
from acp_server.session.events import APPEND, SessionEvent
from acp_server.session.log import MemoryLog
from acp_server.session.session import Session
from tests.support.story import Story, events_of, header, session, ticking, user

CHUNK: dict[str, Any] = {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "é"}}
CALL: dict[str, Any] = {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": "{"}


def bare(**options: Any) -> Session:
    return session(strict=False, **options)


def test_seq_is_the_place_in_the_log() -> None:
    told = bare()
    events = [told.append("plan/mode", {"active": True}), told.append("assistant/chunk", CHUNK)]
    assert [event.seq for event in events] == [0, 1]
    assert events == [told.events[0], told.events[1]]
    assert (told.seq, told.id, told.first_live_seq) == (2, "s-1", 0)


def test_an_event_is_frozen_and_holds_a_copy() -> None:
    data: dict[str, Any] = {"todos": [{"content": "x", "status": "pending"}]}
    event = bare().append("todo/write", data)
    data["todos"].append("more")
    assert event == SessionEvent(
        "todo/write", 0, 1000, FrozenObject(todos=(FrozenObject(content="x", status="pending"),))
    )


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**53, "\ud800", {"\udfff": 1}, {1: 2}, object(), {1}, b"x", [[object()]], 1j],
)
def test_what_json_cannot_keep_is_refused(value: object) -> None:
    told = bare()
    with pytest.raises(JsonError) as caught:
        told.append("command/run", {"commandId": "c", "name": "n", "args": value})  # type: ignore[dict-item]  # wrong on purpose
    assert caught.value.path.startswith("command/run.args")
    assert told.seq == 0


def test_a_cycle_is_refused() -> None:
    cycle: dict[str, Any] = {}
    cycle["again"] = cycle
    with pytest.raises(JsonError, match="nested too deeply"):
        bare().append("todo/write", cycle)


def test_shared_values_and_negative_zero_are_fine() -> None:
    shared = [1, 2.5, None, True, "\U0001f600"]
    event = bare().append("todo/write", {"todos": [shared, shared, -0.0]})
    assert event.data == {"todos": ((*shared,), (*shared,), 0.0)}
    assert str(event.data["todos"][2]) == "0.0"  # type: ignore[index]  # a list


DELTAS: dict[str, dict[str, Any]] = {
    "text": CHUNK,
    "reasoning": {**CHUNK, "chunk": {"type": "reasoning-delta", "index": 0, "text": "x"}},
    "call": {**CHUNK, "chunk": CALL},
    "named call": {**CHUNK, "chunk": {**CALL, "name": "read"}},
    "usage": {**CHUNK, "chunk": {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}}},
    "more in the chunk": {**CHUNK, "chunk": {**CHUNK["chunk"], "more": [1]}},
    "more beside the chunk": {**CHUNK, "more": [1]},
    "more in the call": {**CHUNK, "chunk": {**CALL, "more": [1]}},
}


@pytest.mark.parametrize("data", DELTAS.values(), ids=DELTAS.keys())
def test_every_chunk_is_frozen_alike(data: dict[str, Any]) -> None:
    event = bare().append("assistant/chunk", data)
    assert event.data == {
        **data,
        "chunk": {key: tuple(value) if isinstance(value, list) else value for key, value in data["chunk"].items()},
        **({"more": (1,)} if "more" in data else {}),
    }
    assert (type(event.data), type(event.data["chunk"])) == (FrozenObject, FrozenObject)
    assert event.data["chunk"] is not data["chunk"]


@pytest.mark.parametrize(
    "change",
    [
        {"turn": 0},
        {"turn": True},
        {"turn": 2**53},
        {"step": "1"},
        {"chunk": {"type": "text-delta", "index": 0, "text": "\ud800"}},
        {"chunk": {**CALL, "argumentsDelta": "\udc00"}},
        {"chunk": {"type": "text-delta", "index": 2**53, "text": "x"}},
        {"chunk": {"index": 0, "text": "x"}},
    ],
)
def test_a_wrong_delta_is_refused(change: dict[str, Any]) -> None:
    told = bare()
    with pytest.raises(ServerError):
        told.append("assistant/chunk", {**CHUNK, **change})
    assert told.seq == 0


def test_a_type_that_no_reader_knows_has_to_be_ignorable() -> None:
    told = bare()
    with pytest.raises(ServerError) as caught:
        told.append("plug/in", {})
    assert caught.value.code == "UNKNOWN_EVENT_TYPE"
    assert told.append("plug/in", {}, ignorable=True).ignorable


@pytest.mark.parametrize("time", [-1, 1.5, float("nan"), True, 2**53])
def test_a_clock_that_is_none_is_refused(time: Any) -> None:
    told = Session(header(), now=lambda: time)
    with pytest.raises(ServerError) as caught:
        told.append("plan/mode", {"active": True})
    assert (caught.value.code, told.seq) == ("INVALID_CLOCK", 0)


def test_time_may_go_backwards() -> None:
    times = iter([9, 4])
    told = Session(header(), now=lambda: next(times))
    told.append("plan/mode", {"active": True})
    assert told.append("plan/mode", {"active": False}).time == 4


class TestObservers:
    def test_they_see_what_is_committed_in_order(self) -> None:
        told, seen = bare(), list[tuple[str, int, int, tuple[int, ...]]]()
        told.observe(lambda event: seen.append(("a", event.seq, told.seq, told.surface.nodes)))
        end = told.observe(lambda event: seen.append(("b", event.seq, told.seq, told.surface.nodes)))
        told.append("user/message", user("m"), surface_op=APPEND)
        end()
        told.append("plan/mode", {"active": True})
        assert seen == [("a", 0, 1, (0,)), ("b", 0, 1, (0,)), ("a", 1, 2, (0,))]

    def test_a_failure_is_contained_and_reported(self) -> None:
        reported, seen = list[tuple[str, int]](), list[int]()

        def fail(_event: SessionEvent) -> None:
            raise ValueError("broken")

        def report(error: Exception, event: SessionEvent) -> None:
            reported.append((str(error), event.seq))
            raise RuntimeError("the reporter is broken too")

        told = Session(header(), now=lambda: 1, on_observer_error=report)
        told.observe(fail)
        told.observe(lambda event: seen.append(event.seq))
        told.append("plan/mode", {"active": True})
        assert (reported, seen, told.seq) == ([("broken", 0)], [0], 1)

    def test_without_a_reporter_a_failure_is_contained_too(self) -> None:
        told = bare()
        told.observe(lambda _event: 1 / 0)  # type: ignore[arg-type]  # it never returns
        told.append("plan/mode", {"active": True})
        assert told.seq == 1

    def test_an_append_from_inside_is_refused_and_contained(self) -> None:
        codes: list[str] = []
        told = Session(
            header(), now=lambda: 1, on_observer_error=lambda error, _: codes.append(getattr(error, "code", "none"))
        )
        told.observe(lambda _event: (told.append("plan/mode", {"active": False}), None)[1])
        told.append("plan/mode", {"active": True})
        assert (codes, told.seq) == (["REENTRANT_APPEND"], 1)
        assert told.append("plan/mode", {"active": True}).seq == 1

    def test_what_is_deferred_runs_after_the_append(self) -> None:
        told, order = bare(), list[str]()
        told.after_append(lambda: order.append("at once"))

        def observe(_event: SessionEvent) -> None:
            told.after_append(lambda: order.append("deferred"))
            order.append("observed")

        told.observe(observe)
        told.observe(lambda _event: order.append("last"))
        told.append("plan/mode", {"active": True})
        assert order == ["at once", "observed", "last", "deferred"]


class TestVeto:
    @pytest.mark.parametrize(
        ("kind", "data", "options"),
        [
            ("user/message", user("n"), {"surface_op": APPEND}),
            ("assistant/chunk", CHUNK, {}),
            ("request/context", {"provider": "p", "model": "m"}, {}),
        ],
    )
    def test_it_leaves_nothing(self, kind: str, data: dict[str, Any], options: dict[str, Any]) -> None:
        told, seen = bare(), list[int]()
        told.append("user/message", user("m"), surface_op=APPEND)
        told.observe(lambda event: seen.append(event.seq))

        def veto(event: SessionEvent) -> None:
            assert told.seq == event.seq
            raise ServerError("VETO", "no")

        end = told.validate(veto)
        with pytest.raises(ServerError, match="no"):
            told.append(kind, data, **options)
        assert (told.seq, told.surface.nodes, told.request_context(), seen) == (1, (0,), None, [])
        end()
        assert told.append(kind, data, **options).seq == 1

    def test_a_validator_must_not_append(self) -> None:
        told = bare()
        told.validate(lambda _event: (told.append("plan/mode", {"active": False}), None)[1])
        with pytest.raises(ServerError) as caught:
            told.append("plan/mode", {"active": True})
        assert (caught.value.code, told.seq) == ("REENTRANT_APPEND", 0)


class TestSeed:
    def test_a_seed_ends_once(self) -> None:
        log = MemoryLog(events_of(Story().whole()))
        length = len(log)
        first = session(log, seeded=True)
        assert (first.first_live_seq, first.seq, first.events[length].type) == (length, length + 1, "session/end-seed")
        again = session(log, seeded=True)
        assert (again.first_live_seq, again.seq) == (length + 1, length + 1)

    def test_an_empty_seed_is_marked_too(self) -> None:
        told = session(MemoryLog(), seeded=True)
        assert [event.type for event in told.events.since(0)] == ["session/end-seed"]
        assert told.first_live_seq == 0

    def test_without_a_seed_there_is_no_mark(self) -> None:
        assert session().seq == 0

    def test_everything_is_folded_from_it(self) -> None:
        story = Story().whole()
        again = session(MemoryLog(events_of(story)), seeded=True)
        assert again.messages() == story.session.messages()
        assert again.request_header() == story.session.request_header()
        assert again.request_context() == story.session.request_context()
        assert again.surface.nodes == story.session.surface.nodes

    def test_a_wrong_shape_is_refused_by_its_seq(self) -> None:
        log = MemoryLog(
            [SessionEvent("turn/start", 0, 0, FrozenObject(turn=1)), SessionEvent("x", 1, 0, FrozenObject())]
        )
        session(log)
        log.append(SessionEvent("turn/end", 2, 0, FrozenObject(turn=1)))
        with pytest.raises(ServerError) as caught:
            session(log)
        assert (caught.value.code, caught.value.message) == (
            "INVALID_EVENT_DATA",
            "event 2: turn/end: reason is missing",
        )

    def test_no_chunk_is_looked_at(self) -> None:
        class Packed(MemoryLog):
            def __getitem__(self, seq: int) -> SessionEvent:
                event = super().__getitem__(seq)
                assert event.type != "assistant/chunk"
                return event

            def since(self, seq: int) -> Any:
                raise AssertionError(seq)

            def milestones(self, seq: int = 0) -> Any:
                return (event for event in self._events[seq:] if event.type != "assistant/chunk")

        told = session(Packed(events_of(Story().whole())), seeded=True)
        assert len(told.messages()) == 2
        told.append("turn/start", {"turn": 2})
        told.append("step/start", {"turn": 2, "step": 1})
        told.append("assistant/chunk", {**CHUNK, "turn": 2})
        told.append("user/message", user("n"), surface_op=APPEND)
        assert len(told.messages()) == 3


def test_messages_are_shared_from_call_to_call() -> None:
    story = Story().whole()
    first = story.session.messages()
    assert story.session.messages() is first
    story.whole("m2")
    second = story.session.messages()
    assert all(one is other for one, other in zip(first, second, strict=False))
    nodes = story.session.surface.nodes
    story.replace(nodes[0], nodes[1], user("c"))
    third = story.session.messages()
    assert (third[1] is second[2], third[2] is second[3], len(third)) == (True, True, 3)


def test_usage_without_content_derives_to_no_message() -> None:
    story = Story().begin()
    story.answer(usage={"inputTokens": 1, "outputTokens": 0})
    assert [message.id for message in story.session.messages()] == ["m1"]
    story.close_step()
    story.open_step()
    story.answer(TextBlock("x"), ident="a")
    assert [message.id for message in story.session.messages()] == ["m1", "a"]


def test_one_store_at_a_time() -> None:
    told = Session(header(), now=lambda: next(ticking()))
    told.attach()
    with pytest.raises(ServerError) as caught:
        told.attach()
    assert caught.value.code == "SESSION_ATTACHED"
    told.release()
    told.attach()
