"""Logs with bits flipped, cut, spliced, repeated, swapped, foreign, and whether what is read of them is true."""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import Final, TypeAlias

from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import encode_events
from acp_server.persistence.scan import Scan, scan_log
from acp_server.session.events import SessionEvent
from tests.support.logs import HEADER, in_batches, log_bytes, random_events

Batches: TypeAlias = list[list[SessionEvent]]
SLOW_SECONDS: Final = 1.0
"""Processor time that reading one such file may take."""


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


def judge(number: int, random: Random, encoding: Encoding) -> tuple[str, str | None]:
    """Damage a log, read it, and return how it was judged and what is wrong with that."""
    parts, batches = whole(random, encoding)
    log = MIXERS[number % len(MIXERS)](random, parts)
    start = time.thread_time()
    scan = scan_log(log, encoding)
    if time.thread_time() - start > SLOW_SECONDS:
        return "slow", "it took too long"
    if scan.header is None:
        return "no header", None if scan.damage is not None else "no header and no damage"
    events = [one for batch in batches for one in batch]
    got = events_of(scan)
    kind = "sound" if scan.damage is None else scan.damage.kind
    if got != events[: len(got)]:
        return kind, "what is read was never written"
    if readable_elsewhere(log, parts, len(got), batches) and kind not in ("corrupt", "unsupported"):
        return kind, "durable events are passed over"
    if kind == "sound" and scan.header == HEADER and len(log) != sum(map(len, parts[: len(scan.spans) + 1])):
        return kind, "damage is taken for a sound log"  # a bit that no decoder looks at may be another
    return kind, None


def damaged(seed: int, files: int, encoding: Encoding) -> tuple[Counter[str], list[str]]:
    """Damage so many logs; return how often each judgement was made, and every wrong one."""
    random, counted, wrong = Random(seed), Counter[str](), list[str]()
    for number in range(files):
        kind, problem = judge(number, random, encoding)
        counted[kind] += 1
        if problem is not None:
            wrong.append(f"file {number} of seed {seed}, {encoding}: {problem}")
    return counted, wrong
