from __future__ import annotations

from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from acp_server.persistence.batches import Encoding, encode_batch, find_batches, read_batch
from acp_server.persistence.frames import PAYLOAD_LIMIT, BadBatch, decode_frame, encode_frame, frame_end

ENCODINGS: list[Encoding] = ["zstd", "none"]
LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ") + b"\n"), min_size=1, max_size=5)


@given(st.sampled_from(ENCODINGS), st.lists(LINES, max_size=4), st.binary(max_size=20))
def test_batches_are_found_one_after_the_other(encoding: Encoding, parts: list[list[bytes]], before: bytes) -> None:
    payloads = [b"".join(lines) for lines in parts]
    data = before + b"".join(encode_batch(encoding, payload) for payload in payloads)
    offset = len(before)
    found = []
    while offset < len(data):
        payload, offset = read_batch(encoding, data, offset)
        found.append(payload)
    assert found == payloads


@given(LINES)
def test_every_cut_of_a_frame_is_torn_and_never_bad(lines: list[bytes]) -> None:
    frame = encode_frame(b"".join(lines))
    assert frame_end(frame, 0) == len(frame)
    for cut in range(1, len(frame)):
        with pytest.raises(BadBatch) as caught:
            read_batch("zstd", frame[:cut], 0)
        assert caught.value.torn


@given(LINES, st.data())
def test_no_flipped_bit_gives_other_content(lines: list[bytes], data: st.DataObject) -> None:
    payload = b"".join(lines)
    frame = bytearray(encode_frame(payload))
    bit = data.draw(st.integers(0, len(frame) * 8 - 1))
    frame[bit // 8] ^= 1 << bit % 8
    try:
        assert read_batch("zstd", bytes(frame), 0)[0] == payload
    except BadBatch:
        return


@given(LINES, st.data())
def test_no_flipped_bit_gives_other_lines(lines: list[bytes], data: st.DataObject) -> None:
    payload = b"".join(lines)
    batch = bytearray(encode_batch("none", payload))
    bit = data.draw(st.integers(0, len(batch) * 8 - 1))
    batch[bit // 8] ^= 1 << bit % 8
    try:
        assert read_batch("none", bytes(batch), 0)[0] == payload
    except BadBatch:
        return


@given(st.sampled_from(ENCODINGS), LINES, st.binary(max_size=60))
def test_a_whole_batch_is_found_behind_anything(encoding: Encoding, lines: list[bytes], before: bytes) -> None:
    payload = b"".join(lines)
    garbage = before.replace(b"\x28", b"") + b"\n"
    data = garbage + encode_batch(encoding, payload)
    assert list(find_batches(encoding, data, 0))[-1:] == [(len(garbage), len(data), payload)]


@given(st.binary(max_size=300), st.integers(0, 300))
def test_no_bytes_make_the_reader_raise_anything_else(data: bytes, offset: int) -> None:
    for encoding in ENCODINGS:
        with suppress(BadBatch):
            read_batch(encoding, data, offset)
        list(find_batches(encoding, data, offset))


def test_a_frame_that_states_more_than_the_limit_is_refused_unread() -> None:
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=PAYLOAD_LIMIT + 1)
    bomb = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(64)) + compressor.compress(b"\0")
    bomb += compressor.flush()
    assert len(bomb) < 10_000
    with pytest.raises(BadBatch, match=f"states {PAYLOAD_LIMIT + 1} bytes"):
        decode_frame(bomb)


@pytest.mark.parametrize(
    "frame",
    [
        zstandard.ZstdCompressor(write_checksum=False).compress(b"x\n"),
        zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(b"x\n" * 500),
        b"\x50\x2a\x4d\x18\x01\x00\x00\x00\x00",
    ],
    ids=["no checksum", "no size", "skippable"],
)
def test_a_frame_of_another_kind_is_bad_and_not_torn(frame: bytes) -> None:
    with pytest.raises(BadBatch) as caught:
        read_batch("zstd", frame, 0)
    assert not caught.value.torn
