from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.persistence.records import BadRecord, decode_batch, decode_line, encode_events
from acp_server.persistence.rows import PackedRow, pack_runs, unpack_row
from acp_server.session.event_json import event_to_json
from acp_server.session.events import SessionEvent
from tests.support.logs import event, event_lists, text_delta


def unpacked(payload: bytes, seq: int = 0) -> list[SessionEvent]:
    events: list[SessionEvent] = []
    for entry in decode_batch(payload, seq):
        events += unpack_row(json.loads(entry.line)) if isinstance(entry, PackedRow) else [entry]
    return events


@given(event_lists())
def test_packed_events_come_back_exactly_and_with_the_order_of_their_keys(events: list[SessionEvent]) -> None:
    if not events:
        return
    back = unpacked(encode_events(events))
    assert back == events
    assert [json.dumps(event_to_json(one)) for one in back] == [json.dumps(event_to_json(one)) for one in events]


@given(event_lists(), st.data())
def test_any_split_into_batches_holds_the_same_events(events: list[SessionEvent], data: st.DataObject) -> None:
    if not events:
        return
    cut = data.draw(st.integers(1, len(events)))
    parts = [part for part in (events[:cut], events[cut:]) if part]
    assert [one for part in parts for one in unpacked(encode_events(part), part[0].seq)] == events


def test_three_like_deltas_become_the_row_of_the_format() -> None:
    events = [text_delta(7, "a", time=100), text_delta(8, "b", time=103), text_delta(9, "", time=103)]
    assert encode_events(events) == (
        b'{"type":"text-chunks","seq0":7,"time0":100,'
        b'"data":{"turn":1,"step":1,"index":0,"dt":[3,0],"texts":["a","b",""]}}\n'
    )


def test_a_named_call_keeps_its_id_and_name_in_the_row() -> None:
    chunk = {"type": "tool-call-delta", "index": 2, "id": "c1", "name": "read", "argumentsDelta": "{"}
    events = [event(at, "assistant/chunk", {"turn": 3, "step": 4, "chunk": chunk}, time=5) for at in range(3)]
    assert encode_events(events) == (
        b'{"type":"tool-call-chunks","seq0":0,"time0":5,'
        b'"data":{"turn":3,"step":4,"index":2,"dt":[0,0],"id":"c1","name":"read","args":["{","{","{"]}}\n'
    )


def test_two_deltas_stay_two_lines_and_another_event_breaks_a_run() -> None:
    pair = [text_delta(0, "a"), text_delta(1, "b")]
    usage = event(2, "assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "usage", "usage": {}}})
    assert list(pack_runs([*pair, usage, text_delta(3, "c"), text_delta(4, "d")])) == [
        *pair,
        usage,
        text_delta(3, "c"),
        text_delta(4, "d"),
    ]


def test_a_gap_in_time_beyond_what_json_holds_ends_the_run() -> None:
    far = 2**53 - 1
    events = [text_delta(at, "x", time=time) for at, time in enumerate((-far, -far, -far, far, far, far))]
    assert [type(item) for item in pack_runs(events)] == [dict, dict]
    assert unpacked(encode_events(events)) == events


ROW = {"type": "text-chunks", "seq0": 0, "time0": 1, "data": {"turn": 1, "step": 1, "index": 0}}
GOOD = {**ROW["data"], "dt": [0, 0], "texts": ["a", "b", "c"]}  # type: ignore[dict-item]  # one literal, two uses


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "data": {**GOOD, "extra": 1}},
        {**ROW, "data": {key: value for key, value in GOOD.items() if key != "step"}},
        {**ROW, "data": {**GOOD, "dt": [0]}},
        {**ROW, "data": {**GOOD, "dt": [0, 0.0]}},
        {**ROW, "data": {**GOOD, "dt": [0, True]}},
        {**ROW, "data": {**GOOD, "dt": [0, 2**53]}},
        {**ROW, "data": {**GOOD, "texts": ["a", "b", 1]}},
        {**ROW, "data": {**GOOD, "texts": ["a", "b", "\ud800"]}},
        {**ROW, "data": {**GOOD, "texts": "abc"}},
        {**ROW, "data": {**GOOD, "texts": ["a", "b"], "dt": [0]}},
        {**ROW, "data": {**GOOD, "turn": True}},
        {**ROW, "data": []},
        {**ROW, "data": GOOD, "time0": 2**53 - 1 + 1},
        {**ROW, "data": {**GOOD, "dt": [1, 1]}, "time0": 2**53 - 2},
        {**ROW, "data": GOOD, "seq0": 0, "surfaceOp": "append"},
        {**ROW, "data": GOOD, "time0": "1"},
        {**ROW, "type": "tool-call-chunks", "data": {**GOOD, "id": "c"}},
        {
            **ROW,
            "type": "tool-call-chunks",
            "data": {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "args": ["a", "b", "c"], "id": 7},
        },
    ],
)
def test_a_malformed_row_is_refused(row: object) -> None:
    with pytest.raises(BadRecord):
        decode_line(json.dumps(row), 0)


def test_a_row_that_does_not_begin_at_its_place_is_refused() -> None:
    with pytest.raises(BadRecord, match="event 0 stands where event 4 belongs"):
        decode_line(json.dumps({**ROW, "data": GOOD}), 4)
