"""Uncompressed batches: lines closed by a commit line with their count and CRC (docs/log-format.md, clause B-8). Pure.

Without the commit line a power cut that loses a sector looks like damage; with it a batch is whole or it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from zlib import crc32

from acp_server.persistence.frames import PAYLOAD_LIMIT, SEARCH_LIMIT, BadBatch

COMMIT_TYPE: Final = "commit"
_COMMIT = re.compile(rb'^\{"type":"commit","count":([0-9]{1,9}),"crc32":"([0-9a-f]{8})"\}\n', re.MULTILINE)


def encode_raw(payload: bytes) -> bytes:
    """Return the payload, whose lines all end in LF, followed by its commit line."""
    return payload + b'{"type":"commit","count":%d,"crc32":"%08x"}\n' % (payload.count(b"\n"), crc32(payload))


def read_raw(data: bytes, offset: int) -> tuple[bytes, int]:
    """Return the lines and the end of the batch at `offset`.

    Raises:
        BadBatch: torn when no commit line follows; else when the count or the CRC is wrong.
    """
    commit = _COMMIT.search(data, offset)
    if commit is None:
        raise BadBatch("no commit line follows", torn=True)
    if commit.start() - offset > PAYLOAD_LIMIT:
        raise BadBatch(f"the batch holds {commit.start() - offset} bytes")
    payload = data[offset : commit.start()]
    if not _matches(payload, commit):
        raise BadBatch("the commit line does not match the lines before it")
    return payload, commit.end()


def find_raw(data: bytes, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over (start, end, lines) of every batch after `offset` whose commit line matches.

    A batch's start is found backwards, by the commit line's count, so that a damaged neighbour does not matter.
    """
    spent = 0
    floor = offset
    for commit in _COMMIT.finditer(data, offset):
        start = _lines_back(data, commit.start(), int(commit[1]), floor)
        if start is None:
            continue
        spent += commit.start() - start
        if spent > SEARCH_LIMIT:
            return
        payload = data[start : commit.start()]
        if _matches(payload, commit):
            yield start, commit.end(), payload
            floor = commit.end()


def _matches(payload: bytes, commit: re.Match[bytes]) -> bool:
    return payload.count(b"\n") == int(commit[1]) and b"%08x" % crc32(payload) == commit[2]


def _lines_back(data: bytes, end: int, count: int, floor: int) -> int | None:
    start = end
    for _ in range(count):
        if start <= floor:
            return None
        start = data.rfind(b"\n", floor, start - 1) + 1 or floor
    return start if count else None
