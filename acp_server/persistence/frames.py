"""Zstandard frames as the log uses them (docs/log-format.md, clauses B-1 to B-7). Pure: functions of bytes.

Owns finding a frame's end without decompressing it, and the difference between a frame that the data ends inside of
and one that is wrong. Refuses any meaning of what is inside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import zstandard

MAGIC: Final = b"\x28\xb5\x2f\xfd"
PAYLOAD_LIMIT: Final = 64 * 1024 * 1024
"""Bytes that one batch may hold when decompressed; a frame that states more is refused unread."""

SEARCH_LIMIT: Final = 256 * 1024 * 1024
"""Bytes that a search for later frames may decompress in all, so that a crafted file cannot keep a reader busy."""

SHORT: Final = 64 * 1024
"""Bytes of a payload up to which a compressor's tables stay small enough to keep."""

_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_RESERVED_BITS: Final = 0x18
_CHECKSUM_FLAG: Final = 0x04
_SINGLE_SEGMENT: Final = 0x20
_RLE_BLOCK: Final = 1
_RESERVED_BLOCK: Final = 3


class BadBatch(Exception):  # noqa: N818 - it is a finding about bytes, turned into a report by `scan`
    """A batch that cannot be read; `torn` is whether the data ends before the batch does."""

    def __init__(self, reason: str, *, torn: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.torn = torn


_KEPT: Final[deque[zstandard.ZstdCompressor]] = deque(maxlen=4)
"""Compressors that nobody uses at the moment: making one's tables anew costs more than a short payload itself."""

_READERS: Final[deque[zstandard.ZstdDecompressor]] = deque(maxlen=4)
"""Decompressors that nobody uses at the moment, for the same reason."""


def encode_frame(payload: bytes) -> bytes:
    """Return one frame that states its content's size and checksum."""
    try:
        compressor = _KEPT.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)
    frame = compressor.compress(payload)
    if len(payload) <= SHORT:
        _KEPT.append(compressor)
    return frame


def frame_end(data: bytes, offset: int) -> int:
    """Return where the frame at `offset` ends, from its headers alone.

    Raises:
        BadBatch: torn when the data ends first; else when it is no frame that this log writes.
    """
    if data[offset : offset + 4] != MAGIC:
        short = MAGIC.startswith(data[offset : offset + 4])
        raise BadBatch("the data ends inside a frame" if short else "no frame begins here", torn=short)
    if offset + 5 > len(data):
        raise BadBatch("the data ends inside a frame", torn=True)
    descriptor = data[offset + 4]
    if descriptor & _RESERVED_BITS or not descriptor & _CHECKSUM_FLAG:
        raise BadBatch("the frame's header is not one that this log writes")
    single = bool(descriptor & _SINGLE_SEGMENT)
    size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or int(single)
    if not size_bytes:
        raise BadBatch("the frame does not state its size")
    position = offset + 5 + (0 if single else 1) + _DICTIONARY_BYTES[descriptor & 3] + size_bytes
    return _blocks_end(data, position) + 4 if position <= len(data) else _torn()


def _blocks_end(data: bytes, position: int) -> int:
    limit = len(data) - 4
    while True:
        if position + 3 > limit:
            _torn()
        header = int.from_bytes(data[position : position + 3], "little")
        kind = header >> 1 & 3
        if kind == _RESERVED_BLOCK:
            raise BadBatch("the frame holds a block of a reserved type")
        position += 3 + (1 if kind == _RLE_BLOCK else header >> 3)
        if position > limit:
            _torn()
        if header & 1:
            return position


def _torn() -> int:
    raise BadBatch("the data ends inside a frame", torn=True)


def decode_frame(frame: bytes) -> bytes:
    """Return the content of exactly one whole frame, its checksum verified.

    Raises:
        BadBatch: the stated size is beyond PAYLOAD_LIMIT or wrong, the checksum fails, or the content is damaged.
    """
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= PAYLOAD_LIMIT:
            raise BadBatch(f"the frame states {size} bytes of content")
        reader = _READERS.pop() if _READERS else zstandard.ZstdDecompressor()
        payload = reader.decompress(frame)
    except zstandard.ZstdError as error:
        raise BadBatch("the frame's content is damaged") from error
    if size <= SHORT:
        _READERS.append(reader)
    if len(payload) != size:
        raise BadBatch("the frame's content has another size than it states")
    return payload


def read_frame(data: bytes, offset: int) -> tuple[bytes, int]:
    """Return the content and the end of the frame at `offset`; raises BadBatch as `frame_end` and `decode_frame`."""
    end = frame_end(data, offset)
    return decode_frame(data[offset:end]), end


def find_frames(data: bytes, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over (start, end, content) of every whole and verified frame that starts at or after `offset`."""
    spent = 0
    position = data.find(MAGIC, offset)
    while position >= 0 and spent <= SEARCH_LIMIT:
        try:
            end = frame_end(data, position)
            spent += end - position
            payload = decode_frame(data[position:end])
        except BadBatch:
            position = data.find(MAGIC, position + 1)
            continue
        spent += len(payload)
        yield position, end, payload
        position = data.find(MAGIC, end)
