from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.persistence import long_values
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.long_values import LONGEST, Beside, Fetch, NotBeside
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import BadRecord, LostValue, decode_batch, decode_line, encode_events
from acp_server.persistence.rows import PackedRow
from acp_server.session.events import SessionEvent
from tests.support.logs import event, event_lists, text_delta, user_message

EDGE = ["x" * LONGEST, "x" * (LONGEST + 1), "\u00e9" * (LONGEST // 2), "\u00e9" * (LONGEST // 2 + 1), "\0" * LONGEST]
IDENT = attachment_id(b"long")
GOOD = {"at": ["content", 0, "text"], "attachmentId": IDENT, "bytes": 4}


def fetch_of(beside: Beside) -> Fetch:
    def fetch(ident: str, size: int) -> bytes:
        if len(beside.get(ident, b"")) != size:
            raise NotBeside(ident)
        return beside[ident]

    return fetch


def read(lines: bytes, beside: Beside) -> list[SessionEvent]:
    return list(PackedLog(decode_batch(lines, 0, fetch_of(beside))).since(0)) if lines else []


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


@given(event_lists(), st.integers(3, 40))
@settings(max_examples=300, deadline=None)
def test_what_lies_beside_comes_back_exactly(events: list[SessionEvent], longest: int) -> None:
    beside: Beside = {}
    with patch.object(long_values, "LONGEST", longest):
        lines = encode_events(events, beside)
    back = read(lines, beside)
    assert back == events
    assert encode_events(back) == encode_events(events)
    assert all(attachment_id(content) == ident and len(content) > longest for ident, content in beside.items())
    for line in map(json.loads, lines.decode().split("\n")[:-1]):
        long = [text for text in texts(line["data"]) if len(text.encode()) > longest]
        assert "dt" in line["data"] or long == []
        assert list(line)[-1] == "attached" or "attached" not in line


@given(event_lists())
@settings(max_examples=60, deadline=None)
def test_ordinary_events_are_written_as_ever(events: list[SessionEvent]) -> None:
    beside: Beside = {}
    assert (encode_events(events, beside), beside) == (encode_events(events), {})


@pytest.mark.parametrize("text", EDGE)
def test_the_bytes_of_a_text_decide(text: str) -> None:
    beside: Beside = {}
    said = user_message(0, text)
    lines = encode_events([said], beside)
    assert list(beside.values()) == ([text.encode()] if len(text.encode()) > LONGEST else [])
    assert read(lines, beside) == [said]


def test_data_that_looks_like_a_reference_is_data() -> None:
    odd = {"attached": [GOOD], "attachmentId": IDENT, "text": "x" * (LONGEST + 1), "": [{"": ["y" * (LONGEST + 1)]}]}
    beside: Beside = {}
    events = [event(0, "plug/in", odd, ignorable=True), event(1, "plug/in", {"attached": [GOOD]}, ignorable=True)]
    lines = encode_events(events, beside)
    assert [len(content) for content in beside.values()] == [LONGEST + 1, LONGEST + 1]
    assert [list(json.loads(line))[-1] for line in lines.splitlines()] == ["attached", "ignorable"]
    assert read(lines, beside) == events


def test_a_text_that_occurs_twice_lies_beside_once() -> None:
    beside: Beside = {}
    events = [user_message(at, "z" * (LONGEST + 1)) for at in range(3)]
    assert read(encode_events(events, beside), beside) == events
    assert len(beside) == 1


def test_a_row_has_no_long_text() -> None:
    beside: Beside = {}
    pieces = ["a", "b", "c", "x" * (LONGEST + 1), "d", "e", "f"]
    events = [text_delta(seq, piece) for seq, piece in enumerate(pieces)]
    entries = decode_batch(encode_events(events, beside), 0, fetch_of(beside))
    assert [isinstance(entry, PackedRow) for entry in entries] == [True, False, True]
    assert list(PackedLog(entries).since(0)) == events
    assert len(beside) == 1


def line(listed: object, *, text: str = "", more: dict[str, object] | None = None) -> str:
    envelope: dict[str, Any] = {"type": "user/message", "seq": 0, "time": 1, "data": {"content": [{"text": text}]}}
    return json.dumps({**envelope, "attached": listed, **(more or {})})


@pytest.mark.parametrize(
    "listed",
    [
        None,
        [],
        {},
        "x",
        [1],
        [GOOD, GOOD],
        [{**GOOD, "more": 1}],
        [{"at": GOOD["at"], "attachmentId": IDENT}],
        [{**GOOD, "at": []}],
        [{**GOOD, "at": "content"}],
        [{**GOOD, "at": ["content"]}],
        [{**GOOD, "at": ["content", False, "text"]}],
        [{**GOOD, "at": ["content", -1, "text"]}],
        [{**GOOD, "at": ["content", 1, "text"]}],
        [{**GOOD, "at": ["content", "0", "text"]}],
        [{**GOOD, "at": ["content", 0, "text", 0]}],
        [{**GOOD, "at": ["content", 0, "other"]}],
        [{**GOOD, "attachmentId": "../session.lock"}],
        [{**GOOD, "attachmentId": 7}],
        [{**GOOD, "bytes": 0}],
        [{**GOOD, "bytes": True}],
        [{**GOOD, "bytes": 64 * 1024 * 1024 + 1}],
    ],
)
def test_a_malformed_list_makes_the_line_malformed(listed: object) -> None:
    with pytest.raises(BadRecord, match="in a way that does not fit") as caught:
        decode_line(line(listed), 0, fetch_of({IDENT: b"long"}))
    assert not isinstance(caught.value, LostValue)


def test_a_place_that_is_taken_makes_the_line_malformed() -> None:
    with pytest.raises(BadRecord, match="in a way that does not fit"):
        decode_line(line([GOOD], text="taken"), 0, fetch_of({IDENT: b"long"}))


def test_what_is_lost_is_named_and_what_comes_before_is_kept() -> None:
    payload = f"{encode_events([user_message(0, 'a')]).decode()}{line([GOOD], more={'seq': 1})}\n".encode()
    with pytest.raises(LostValue, match=f"event 1 lacks a text, since {IDENT}") as caught:
        decode_batch(payload, 0, fetch_of({}))
    assert caught.value.before == [user_message(0, "a")]
    assert len(decode_batch(payload, 0, fetch_of({IDENT: b"long"}))) == 2


@pytest.mark.parametrize("more", [{"extra": 1}, {"seq": 7}, {"type": "future/x"}, {"data": []}])
def test_a_line_that_is_malformed_is_not_looked_for_files(more: dict[str, object]) -> None:
    with pytest.raises(BadRecord) as caught:
        decode_line(line([GOOD], more=more), 0, fetch_of({}))
    assert not isinstance(caught.value, LostValue)


def test_bytes_that_are_no_text_are_lost() -> None:
    ident = attachment_id(b"\xff\xfe")
    with pytest.raises(LostValue, match="is no text"):
        decode_line(line([{**GOOD, "attachmentId": ident, "bytes": 2}]), 0, fetch_of({ident: b"\xff\xfe"}))
