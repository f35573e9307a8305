from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import decode_batch, encode_events
from acp_server.persistence.rows import PackedRow
from acp_server.session.events import SessionEvent
from acp_server.session.log import MemoryLog
from tests.support.logs import event_lists, text_delta, user_message, whole_turn


def packed(events: list[SessionEvent]) -> PackedLog:
    return PackedLog(decode_batch(encode_events(events), 0) if events else [])


@given(event_lists(), event_lists(), st.integers(0, 30))
def test_a_packed_log_is_no_other_log(events: list[SessionEvent], more: list[SessionEvent], seq: int) -> None:
    log, plain = packed(events), MemoryLog(events)
    for late in more:
        moved = SessionEvent(late.type, len(plain), late.time, late.data)
        log.append(moved)
        plain.append(moved)
    assert len(log) == len(plain)
    assert [log[at] for at in range(len(log))] == list(plain.since(0))
    assert list(log.since(seq)) == list(plain.since(seq))
    assert list(log.milestones(seq)) == list(plain.milestones(seq))
    for types in (frozenset({"user/message", "turn/start"}), ("plug/in",), ()):
        assert list(log.of_types(types, seq)) == [one for one in plain.milestones(seq) if one.type in types]
    for wrong in (-1, len(log)):
        with pytest.raises(IndexError):
            log[wrong]


@given(event_lists(), st.data())
def test_the_end_of_a_log_keeps_its_seqs(events: list[SessionEvent], data: st.DataObject) -> None:
    if not events:
        return
    first = data.draw(st.integers(0, len(events) - 1))
    log = PackedLog(decode_batch(encode_events(events[first:]), first), first)
    assert (len(log), list(log.since(0)), log[first]) == (len(events), events[first:], events[first])
    if first:
        with pytest.raises(IndexError):
            log[first - 1]


def test_rows_stay_packed_until_somebody_looks_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def unpack(value: dict[str, object]) -> list[SessionEvent]:
        opened.append(value["seq0"])
        return [text_delta(at, f"word {at - 3} ") for at in range(3, 53)]

    monkeypatch.setattr("acp_server.persistence.packed_log.unpack_row", unpack)
    events = whole_turn(0, 1, 50)
    log = packed(events)
    assert [event.type for event in log.milestones()] == [one.type for one in events if one.type != "assistant/chunk"]
    log.append(user_message(len(log), "more"))
    assert (len(log), log[2], opened) == (len(events) + 1, events[2], [])
    assert [log[at].seq for at in range(3, 53)] == list(range(3, 53))
    assert opened == [3]


def test_events_that_come_while_somebody_reads_are_met() -> None:
    log = packed(whole_turn(0, 1, 5))
    reader = log.since(0)
    first = next(reader)
    log.append(user_message(len(log), "late"))
    assert [first, *reader][-1] == user_message(11, "late")


def test_a_turn_is_packed_into_one_row() -> None:
    rows = [entry for entry in decode_batch(encode_events(whole_turn(0, 1, 5)), 0) if isinstance(entry, PackedRow)]
    assert [(row.seq0, row.count) for row in rows] == [(3, 5)]
