"""Laws of lines: how bytes are cut does not matter, and what is written can be read."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from acp_server.jsonrpc.encoding import (
    error_bytes,
    notification_bytes,
    request_bytes,
    response_bytes,
    text_json,
    whole_text,
)
from acp_server.jsonrpc.envelope import Answer, Call, Ignored, Refused, read_message
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.framing import LineSplitter, TooLong

STREAMS = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b" ", b"{}", b"abc", b"\xe2\x80\xa8", b"\xff", b"0123456"])
    | st.binary(max_size=4)
).map(b"".join)
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
IDS = TEXTS | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


def split(pieces: list[bytes], limit: int) -> list[bytes | TooLong | None]:
    splitter = LineSplitter(limit)
    return [*(line for piece in pieces for line in splitter.feed(piece)), splitter.finish()]


def strictly(frame: bytes) -> object:
    def refuse(token: str) -> float:
        raise AssertionError(token)

    assert frame.endswith(b"\n")
    text = frame.decode()
    assert text.splitlines() == [text[:-1]]
    return json.loads(text, parse_constant=refuse)


@given(STREAMS, st.lists(st.integers(0, 200), max_size=8), st.integers(1, 12))
def test_any_cut_gives_the_same_lines(data: bytes, places: list[int], limit: int) -> None:
    assert split(cut(data, places), limit) == split([data], limit)


@given(STREAMS)
def test_single_bytes_give_the_same_lines(data: bytes) -> None:
    assert split([data[n : n + 1] for n in range(len(data))], 8) == split([data], 8)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_raise(line: bytes) -> None:
    assert isinstance(read_message(line), Call | Answer | Refused | Ignored)


@given(VALUES)
def test_no_value_makes_the_reader_raise(value: object) -> None:
    found = read_message(json.dumps(value).encode())
    assert isinstance(found, Call | Answer | Refused | Ignored)


@given(IDS, TEXTS, OBJECTS)
def test_what_was_read_is_written_and_read_again_unchanged(ident: object, method: str, params: object) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
    first = read_message(line)
    if isinstance(first, Refused):  # NaN and infinities, which Python writes and JSON has not
        assert "NaN" in line.decode() or "Infinity" in line.decode()
        return
    assert isinstance(first, Call)
    assert not isinstance(first.id, int) or first.id == ident
    again = {"jsonrpc": "2.0", "id": first.id, "method": first.method, "params": first.params}
    assert read_message(json.dumps(again, ensure_ascii=False).encode()) == first
    assert strictly(response_bytes(first.id, first.params)) == {  # type: ignore[arg-type]  # the id is present
        "jsonrpc": "2.0",
        "id": first.id,
        "result": first.params,
    }


@given(IDS, TEXTS, OBJECTS)
def test_every_frame_is_one_strict_line(ident: object, text: str, value: dict[str, object]) -> None:
    frames = (
        response_bytes(ident, value),  # type: ignore[arg-type]  # any JSON-like value
        error_bytes(ident, RpcError(-32000, text, value)),  # type: ignore[arg-type]  # any JSON-like value
        request_bytes(7, text, value),  # type: ignore[arg-type]  # any JSON-like value
        notification_bytes(text, value),  # type: ignore[arg-type]  # any JSON-like value
    )
    for frame in frames:
        assert isinstance(strictly(frame), dict)


@given(TEXTS)
def test_a_text_in_a_template_reads_as_itself(text: str) -> None:
    assert strictly(f"[{text_json(text)}]\n".encode()) == [whole_text(text)]


@given(st.text())
def test_whole_text_leaves_whole_text_alone(text: str) -> None:
    assert whole_text(text) == text
