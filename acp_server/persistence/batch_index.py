"""The table of a log's batches, kept beside it so that reading an end need not read the rest.

Owns its encoding and the choice of where to begin. The table is never an authority: whoever reads from a place that
it names checks that a whole batch with that very seq begins there, and reads the log from the start when not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from struct import Struct
from typing import Final
from zlib import crc32

from acp_server.persistence.scan import BatchSpan

MAGIC: Final = b"acpidx1\n"
_ROW: Final = Struct("<QQ")
_TAIL: Final = Struct("<I")


def encode_index(spans: Sequence[BatchSpan]) -> bytes:
    """Return the table: for each batch its offset and first seq, and a checksum over all."""
    body = MAGIC + b"".join(_ROW.pack(span.offset, span.first_seq) for span in spans)
    return body + _TAIL.pack(crc32(body))


def start_before(index: bytes, seq: int) -> tuple[int, int] | None:
    """Return (offset, first seq) of the last batch of the table that begins at or before `seq`, or None.

    None too for a table that is cut, of another kind, or out of order.
    """
    body, tail = index[: -_TAIL.size], index[-_TAIL.size :]
    if not body.startswith(MAGIC) or len(tail) != _TAIL.size or _TAIL.unpack(tail)[0] != crc32(body):
        return None
    if (len(body) - len(MAGIC)) % _ROW.size:
        return None
    rows = list(_ROW.iter_unpack(body[len(MAGIC) :]))
    firsts = [first for _, first in rows]
    position = bisect_right(firsts, seq) - 1
    return rows[position] if position >= 0 else None
