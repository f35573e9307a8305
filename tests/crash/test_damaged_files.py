"""Logs with bits flipped, cut, spliced, repeated, swapped, foreign: a prefix or a plain refusal, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import encode_events
from acp_server.persistence.scan import Scan, scan_log
from acp_server.session.events import SessionEvent
from tests.support.logs import HEADER, in_batches, log_bytes, random_events, user_message

FILES = 2_500
Batches = list[list[SessionEvent]]


def flipped(random: Random, parts: list[bytes]) -> bytes:
    log = bytearray(b"".join(parts))
    for _ in range(random.choice([1, 1, 3])):
        bit = random.randrange(len(log) * 8)
        log[bit // 8] ^= 1 << bit % 8
    return bytes(log)


def cut(random: Random, parts: list[bytes]) -> bytes:
    log = b"".join(parts)
    return log[: random.randrange(len(log))]


def overwritten(random: Random, parts: list[bytes]) -> bytes:
    log = bytearray(b"".join(parts))
    start = random.randrange(len(log))
    end = min(start + random.choice([1, 30, 512]), len(log))
    log[start:end] = random.choice([bytes(end - start), random.randbytes(end - start)])
    return bytes(log)


def spliced(random: Random, parts: list[bytes]) -> bytes:
    log = b"".join(parts)
    at, start = random.randrange(len(log)), random.randrange(len(log))
    return log[:at] + log[start : start + random.choice([1, 40, 400])] + log[at:]


def removed(random: Random, parts: list[bytes]) -> bytes:
    log = b"".join(parts)
    at = random.randrange(len(log))
    return log[:at] + log[at + random.choice([1, 40, 400]) :]


def repeated(random: Random, parts: list[bytes]) -> bytes:
    at = random.randrange(1, len(parts))
    return b"".join([*parts[: at + 1], *parts[at:]])


def swapped(random: Random, parts: list[bytes]) -> bytes:
    one, two = random.sample(range(1, len(parts)), 2)
    mixed = list(parts)
    mixed[one], mixed[two] = mixed[two], mixed[one]
    return b"".join(mixed)


def dropped(random: Random, parts: list[bytes]) -> bytes:
    at = random.randrange(1, len(parts))
    return b"".join([*parts[:at], *parts[at + 1 :]])


def extended(random: Random, parts: list[bytes]) -> bytes:
    return b"".join(parts) + random.choice([bytes(600), random.randbytes(600), b"\x28\xb5\x2f\xfd" * 9, b"{}\n"])


MIXERS = (flipped, cut, overwritten, spliced, removed, repeated, swapped, dropped, extended)


def whole(random: Random, encoding: Encoding) -> tuple[list[bytes], Batches]:
    batches = in_batches(random_events(random, random.randint(12, 40)), random, 8)
    while len(batches) < 3:
        batches = in_batches(random_events(random, 40), random, 8)
    parts = [log_bytes([], encoding)]
    parts += [encode_batch(encoding, encode_events(batch)) for batch in batches]
    return parts, batches


def events_of(scan: Scan) -> list[SessionEvent]:
    return list(PackedLog(scan.entries).since(0))


def readable_elsewhere(log: bytes, parts: list[bytes], got: int, batches: Batches) -> bool:
    """Return whether a batch of the original with events beyond the prefix is still whole in the file."""
    return any(part in log for part, batch in zip(parts[1:], batches, strict=True) if batch[0].seq >= got)


@pytest.mark.parametrize("encoding", ["zstd", "none"])
def test_a_damaged_log_gives_a_prefix_or_a_refusal(encoding: Encoding) -> None:
    random = Random(11)
    counted = dict.fromkeys((None, "torn", "corrupt", "unsupported", "no header"), 0)
    for number in range(FILES):
        parts, batches = whole(random, encoding)
        log = MIXERS[number % len(MIXERS)](random, parts)
        scan = scan_log(log, encoding)
        if scan.header is None:
            counted["no header"] += 1
            assert scan.damage is not None
            continue
        events = [one for batch in batches for one in batch]
        got = events_of(scan)
        assert got == events[: len(got)]
        kind = None if scan.damage is None else scan.damage.kind
        counted[kind] += 1
        if readable_elsewhere(log, parts, len(got), batches):
            assert kind in ("corrupt", "unsupported"), number
        if kind is None and scan.header == HEADER:
            assert log == b"".join(parts[: len(scan.spans) + 1])
    assert min(counted[None], counted["torn"], counted["corrupt"], counted["no header"]) > 10


def test_a_gigabyte_of_nothing_is_refused_unread() -> None:
    frame = bytearray(encode_batch("zstd", encode_events([user_message(0, "x" * 70_000)])))
    assert frame[4] >> 6 == 2
    frame[6 - (frame[4] >> 5 & 1) : 10 - (frame[4] >> 5 & 1)] = (1 << 30).to_bytes(4, "little")
    scan = scan_log(log_bytes([]) + bytes(frame), "zstd")
    assert scan.damage is not None
    assert (scan.damage.kind, scan.damage.reason) == ("torn", "the frame states 1073741824 bytes of content")
