"""The envelope's table (C6)."""

from __future__ import annotations

import pytest

from acp_server.base.json_value import FrozenObject
from acp_server.session.event_json import EventFormatError, event_from_json, event_to_json
from acp_server.session.events import APPEND, Replace, SessionEvent

PLAIN = {"type": "turn/start", "seq": 3, "time": 5, "data": {"turn": 1}}


def with_(**fields: object) -> dict[str, object]:
    return {**PLAIN, **fields}


def without(field: str) -> dict[str, object]:
    return {key: value for key, value in PLAIN.items() if key != field}


def test_keys_stand_in_one_order() -> None:
    event = SessionEvent("x", 3, 5, FrozenObject(a=1), Replace(1, 2), (1, 2), ignorable=True)
    data = event_to_json(event)
    assert list(data) == ["type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable"]
    assert data == {
        "type": "x",
        "seq": 3,
        "time": 5,
        "data": {"a": 1},
        "sourceEventSeqs": (1, 2),
        "surfaceOp": {"op": "replace", "start": 1, "end": 2},
        "ignorable": True,
    }


def test_what_is_absent_is_left_out() -> None:
    assert event_to_json(SessionEvent("turn/start", 3, 5, FrozenObject(turn=1))) == PLAIN


def test_reading_freezes_the_data() -> None:
    source = with_(data={"a": [{"b": 1}]}, surfaceOp="append", sourceEventSeqs=[])
    event = event_from_json(source, 3)
    assert event == SessionEvent("turn/start", 3, 5, FrozenObject(a=(FrozenObject(b=1),)), APPEND, ())
    with pytest.raises(TypeError):
        event.data["a"] = 1


WRONG: dict[str, tuple[object, str]] = {
    "no object": ([], "the envelope"),
    "unknown key": (with_(more=1), "'more'"),
    "no type": (without("type"), "type"),
    "empty type": (with_(type=""), "type"),
    "type of another kind": (with_(type=1), "type"),
    "no seq": (without("seq"), "seq"),
    "negative seq": (with_(seq=-1), "seq"),
    "seq as a truth": (with_(seq=True), "seq"),
    "seq as a float": (with_(seq=3.0), "seq"),
    "seq out of place": (with_(seq=4), "seq"),
    "huge seq": (with_(seq=2**53), "seq"),
    "no time": (without("time"), "time"),
    "time as a float": (with_(time=1.5), "time"),
    "huge time": (with_(time=-(2**53)), "time"),
    "no data": (without("data"), "data"),
    "data of another kind": (with_(data=[1]), "data"),
    "data that JSON cannot hold": (with_(data={"a": float("nan")}), "data.a"),
    "ignorable false": (with_(ignorable=False), "ignorable"),
    "ignorable null": (with_(ignorable=None), "ignorable"),
    "unknown operation": (with_(surfaceOp="prepend"), "surfaceOp"),
    "null operation": (with_(surfaceOp=None), "surfaceOp"),
    "replace without end": (with_(surfaceOp={"op": "replace", "start": 1}), "surfaceOp"),
    "replace with more": (with_(surfaceOp={"op": "replace", "start": 1, "end": 1, "x": 1}), "surfaceOp"),
    "replace by another name": (with_(surfaceOp={"op": "append", "start": 1, "end": 1}), "surfaceOp"),
    "replace of no seq": (with_(surfaceOp={"op": "replace", "start": 1, "end": True}), "surfaceOp"),
    "sources null": (with_(sourceEventSeqs=None), "sourceEventSeqs"),
    "sources as text": (with_(sourceEventSeqs="12"), "sourceEventSeqs"),
    "a source that is none": (with_(sourceEventSeqs=[1, "2"]), "sourceEventSeqs"),
}


@pytest.mark.parametrize(("envelope", "field"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_envelope_is_refused_by_the_field(envelope: object, field: str) -> None:
    with pytest.raises(EventFormatError) as caught:
        event_from_json(envelope, 3)
    assert (caught.value.code, caught.value.field) == ("INVALID_EVENT", field)
    assert caught.value.message.startswith("event 3: ")


def test_time_may_be_negative() -> None:
    assert event_from_json(with_(time=-7)).time == -7
