"""Reading a whole log from bytes (docs/log-format.md, clauses K-1 to K-8). Pure; never raises, whatever the bytes.

Owns the judgement between a torn end, which a crash can leave, and damage, which none can: when a whole batch with
later events follows the unreadable place, the place was once on stable storage.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from acp_server.base.values import value
from acp_server.persistence.batches import Encoding, find_batches, read_batch
from acp_server.persistence.frames import BadBatch
from acp_server.persistence.long_values import Fetch, nothing_beside
from acp_server.persistence.records import BadRecord, Entry, LostValue, decode_batch, decode_header, first_seq
from acp_server.persistence.rows import PackedRow
from acp_server.session.header import SessionHeader


class BatchSpan(NamedTuple):
    """Where one batch of events lies: bytes `offset` to `end`, events `first_seq` to `next_seq` (excluded)."""

    offset: int
    end: int
    first_seq: int
    next_seq: int


@value
class Damage:
    """Why reading stopped at byte `offset`, after event `last_seq` (-1: before the first).

    `torn` is what a crash leaves; `corrupt` is what none can; `unsupported` needs another version of the server.
    """

    kind: Literal["torn", "corrupt", "unsupported"]
    offset: int
    last_seq: int
    reason: str


class Scan:
    """What a log holds: everything up to byte `good_length` is whole; `damage` is what comes then, if anything.

    When a file beside the log is lost, the events before the one that names it belong to `entries` too, though their
    batch is not in `spans` and begins at `good_length`.
    """

    __slots__ = ("damage", "entries", "good_length", "header", "next_seq", "spans")

    def __init__(self, next_seq: int = 0, good_length: int = 0) -> None:
        self.header: SessionHeader | None = None
        self.entries: list[Entry] = []
        self.spans: list[BatchSpan] = []
        self.next_seq = next_seq
        self.good_length = good_length
        self.damage: Damage | None = None


def scan_log(data: bytes, encoding: Encoding, fetch: Fetch = nothing_beside) -> Scan:
    """Return header, entries and batch table of a log, as far as they are good; raises what `fetch` raises."""
    scan = Scan()
    try:
        payload, end = read_batch(encoding, data, 0)
        scan.header = decode_header(payload)
    except (BadBatch, BadRecord) as error:
        unsupported = isinstance(error, BadRecord) and error.unsupported
        reason = f"the header cannot be read: {error.reason}" if data else "the file is empty"
        kind: Literal["corrupt", "unsupported"] = "unsupported" if unsupported else "corrupt"
        scan.damage = Damage(kind, 0, -1, error.reason if unsupported else reason)
        return scan
    scan.good_length = end
    continue_scan(scan, data, encoding, fetch=fetch)
    return scan


def continue_scan(scan: Scan, data: bytes, encoding: Encoding, base: int = 0, fetch: Fetch = nothing_beside) -> None:
    """Read on from `scan.good_length`; `data` begins at byte `base` of the file."""
    while scan.damage is None and scan.good_length - base < len(data):
        start = scan.good_length - base
        try:
            payload, end = read_batch(encoding, data, start)
            entries = decode_batch(payload, scan.next_seq, fetch)
        except BadBatch as error:
            later = _later_batch(data, encoding, start, scan.next_seq)
            scan.damage = _damage(scan, "corrupt" if later else "torn", error.reason)
        except LostValue as error:
            if error.before:
                scan.entries += error.before
                scan.next_seq = _next_seq(error.before)
            scan.damage = _damage(scan, "corrupt", error.reason)
        except BadRecord as error:
            scan.damage = _damage(scan, "unsupported" if error.unsupported else "corrupt", error.reason)
        else:
            _take(scan, entries, base + end)


def _take(scan: Scan, entries: list[Entry], end: int) -> None:
    following = _next_seq(entries)
    scan.entries += entries
    scan.spans.append(BatchSpan(scan.good_length, end, scan.next_seq, following))
    scan.next_seq, scan.good_length = following, end


def _next_seq(entries: list[Entry]) -> int:
    last = entries[-1]
    return last.seq0 + last.count if isinstance(last, PackedRow) else last.seq + 1


def _damage(scan: Scan, kind: Literal["torn", "corrupt", "unsupported"], reason: str) -> Damage:
    return Damage(kind, scan.good_length, scan.next_seq - 1, reason)


def _later_batch(data: bytes, encoding: Encoding, start: int, next_seq: int) -> bool:
    """Return whether a whole batch with events from `next_seq` or later stands behind the unreadable place."""
    for _, _, payload in find_batches(encoding, data, start + 1):
        seq = first_seq(payload)
        if seq is not None and seq >= next_seq:
            return True
    return False


def later_entries(
    data: bytes, encoding: Encoding, scan: Scan, fetch: Fetch = nothing_beside
) -> list[tuple[int, list[Entry]]]:
    """Return (byte, entries) of each readable batch behind the damage, in the order of the file, for salvage."""
    found: list[tuple[int, list[Entry]]] = []
    for start, _, payload in find_batches(encoding, data, scan.good_length + 1):
        seq = first_seq(payload)
        if seq is None:
            continue
        try:
            found.append((start, decode_batch(payload, seq, fetch)))
        except BadRecord:
            continue
    return found
