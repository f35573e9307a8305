"""One durable batch as bytes, in either encoding. Pure.

Owns nothing but the choice between `frames` and `raw_batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from acp_server.persistence.frames import encode_frame, find_frames, read_frame
from acp_server.persistence.raw_batches import encode_raw, find_raw, read_raw

Encoding: TypeAlias = Literal["zstd", "none"]

_ENCODE: Final[Mapping[Encoding, Callable[[bytes], bytes]]] = {"zstd": encode_frame, "none": encode_raw}
_READ: Final[Mapping[Encoding, Callable[[bytes, int], tuple[bytes, int]]]] = {"zstd": read_frame, "none": read_raw}
_FIND: Final[Mapping[Encoding, Callable[[bytes, int], Iterator[tuple[int, int, bytes]]]]] = {
    "zstd": find_frames,
    "none": find_raw,
}


def encode_batch(encoding: Encoding, payload: bytes) -> bytes:
    """Return the bytes of one batch whose payload is whole lines."""
    return _ENCODE[encoding](payload)


def read_batch(encoding: Encoding, data: bytes, offset: int) -> tuple[bytes, int]:
    """Return the payload and the end of the batch at `offset`; raises BadBatch."""
    return _READ[encoding](data, offset)


def find_batches(encoding: Encoding, data: bytes, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over (start, end, payload) of the whole and verified batches that start at or after `offset`."""
    return _FIND[encoding](data, offset)
