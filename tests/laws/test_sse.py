"""Server-sent events do not depend on where the reads were cut, and agree with a line-by-line reading."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.llm.adapter import SseEvent
from acp_server.llm.failure import LlmError
from acp_server.llm.sse import SseDecoder

PIECES = (
    b"data: ",
    b"data:",
    b"data",
    b"data : x",
    b"event: ",
    b"event:",
    b"event",
    b"id: 7",
    b"retry: 10",
    b": keep-alive",
    b":",
    b" ",
    b"{}",
    b"[DONE]",
    b"\n",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\xef\xbb\xbf",
    "é€😀\u2028\x85".encode(),
    "😀".encode()[:2],
    b"\xff",
    b"\x00",
)
STREAMS = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


def naive(data: bytes) -> list[SseEvent]:
    """Read line by line, as the standard words it; the end of the stream ends an event too."""
    events: list[SseEvent] = []
    name = ""
    values: list[str] = []
    for raw in [*re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        line = raw.decode("utf-8", "replace")
        if not line:
            if values:
                events.append(SseEvent(name or "message", "\n".join(values)))
            name, values = "", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            values.append(value)
        elif key == "event":
            name = value
    return events


def decode(parts: Iterable[bytes]) -> list[SseEvent]:
    decoder = SseDecoder()
    return [*(event for part in parts for event in decoder.feed(part)), *decoder.finish()]


@given(STREAMS, st.lists(st.integers(0, 200), max_size=8))
@settings(max_examples=400, deadline=None)
def test_every_way_of_cutting_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    expected = naive(data)
    assert decode([data]) == expected
    assert decode(data[n : n + 1] for n in range(len(data))) == expected
    assert decode(data[start:end] for start, end in pairwise(places)) == expected


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"", []),
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\n\n", [("message", "a")]),
        (b"data:  a\n\n", [("message", " a")]),
        (b"data\n\n", [("message", "")]),
        (b"data: a", [("message", "a")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("message", "b")]),
        (b"event: x\n\ndata: b\n\n", [("message", "b")]),
        (b": hi\n\n: ho\n\n", []),
        (b"id: 1\nretry: 2\nother: 3\n\n", []),
        (b"data: a\r\n\r\ndata: b\r\r", [("message", "a"), ("message", "b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"\n\xef\xbb\xbfdata: a\n\n", []),
        (b"data: a\xff\xf0\x9f\n\n", [("message", "a\ufffd\ufffd")]),
        ("data: a\u2028b\x0b\x85\n\n".encode(), [("message", "a\u2028b\x0b\x85")]),
    ],
)
def test_examples(data: bytes, events: list[tuple[str, str]]) -> None:
    assert [(event.event, event.data) for event in decode([data])] == events


def test_an_event_is_given_as_soon_as_its_blank_line_is_there() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"\n\r") == [SseEvent("message", "a")]
    assert decoder.feed(b"\ndata: b\n\ndata: c") == [SseEvent("message", "b")]
    assert decoder.finish() == [SseEvent("message", "c")]
    assert decoder.finish() == []


def test_an_event_without_end_is_refused() -> None:
    decoder = SseDecoder(limit=10)
    assert decoder.feed(b"data: a\n\ndata: b") == [SseEvent("message", "a")]
    with pytest.raises(LlmError) as caught:
        decoder.feed(b"0123456789")
    assert caught.value.code == "MALFORMED_RESPONSE"
    with pytest.raises(LlmError):
        SseDecoder(limit=10).feed(b"data: 012345678901234")


def test_events_that_come_one_by_one_are_read_like_others() -> None:
    decoder = SseDecoder()
    parts = [b"data: a\n\n", b"data: b\rdata: c\n\n", b"data: d\n\n"]
    parts += [b"data: e\nevent: x\n\n", b"data: f\n\r", b"\ndata: g\n\n"]
    texts = [[(event.event, event.data) for event in decoder.feed(part)] for part in parts]
    assert texts == [
        [("message", "a")],
        [("message", "b\nc")],
        [("message", "d")],
        [("x", "e")],
        [("message", "f")],
        [("message", "g")],
    ]
