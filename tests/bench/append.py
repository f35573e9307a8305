"""The append suite: what an event costs on its way to the disk, as ratios to doing just that by hand.

Runs the store in this process on the machine's temporary directory; there is no other agent to measure.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.persistence.batches import encode_batch
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.records import encode_events
from acp_server.session.event_json import event_to_json
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from tests.bench.figures import TARGETS, Figure
from tests.bench.setting import Setting
from tests.support.logs import NOW, event, text_delta, whole_turn

HEADER = SessionHeader(SessionId("appended"), NOW, "/p")
WORDS = "words " * 40
TITLE: dict[str, JsonValue] = {"title": WORDS, "messageSeqs": [], "source": {"kind": "user"}}
DELTAS = 60
WINDOW = 100
"""Batches whose cost is taken together, at the start and at the end."""


class Unsynced(PosixIo):
    """The disk without the wait for it: what is left is the store's own work and the kernel's."""

    def sync(self, handle: int) -> None:
        """Do nothing."""


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    if not setting.scripted:
        return []
    return [*_flushed(setting), _in_memory(setting), _late(setting)]


def _flushed(setting: Setting) -> list[Figure]:
    """Append an event and flush it; then write the same bytes by hand and sync them, turn by turn.

    The second is the wait of whoever flushes, two threads' wake-ups included; the first is the store's own work, done
    in one thread that does not sleep (docs/decisions/0019).
    """
    with TemporaryDirectory(prefix="bench-") as folder:
        ours, bare = asyncio.run(_flushes(Path(folder), setting.times(400)))
        work = _works(folder, setting.times(400))
    waited = f"{_us(ours)} to {_us(bare)}, least {min(ours) / min(bare):.2f}"
    worked = f"{_us(work)} and {_us(bare)} to {_us(bare)}"
    return [
        Figure(TARGETS["append-work"], (median(work) + median(bare)) / median(bare), 1.0, worked),
        Figure(TARGETS["append-flushed"], median(ours) / median(bare), 1.0, waited),
    ]


def _works(folder: str, number: int) -> list[int]:
    files = Store(Unsynced(), f"{folder}/unsynced", "zstd", Owner(os.getpid(), "here", 1)).fresh(HEADER)
    session, taken = Session(HEADER, now=lambda: NOW), list[int]()
    for _ in range(number):
        start = time.perf_counter_ns()
        files.commit([session.append("session/title", TITLE)])
        taken.append(time.perf_counter_ns() - start)
    files.release()
    return taken


async def _flushes(folder: Path, number: int) -> tuple[list[int], list[int]]:
    store = JsonlPersistence(folder / "sessions")
    session = Session(HEADER, now=lambda: NOW)
    await store.create(HEADER)
    journal = store.attach(session)
    session.append("turn/start", {"turn": 1})
    await journal.flush()
    handle, length = os.open(folder / "bare", os.O_RDWR | os.O_CREAT, 0o600), 0
    ours, bare = list[int](), list[int]()
    for _ in range(number):
        start = time.perf_counter_ns()
        told = session.append("session/title", TITLE)
        await journal.flush()
        ours.append(time.perf_counter_ns() - start)
        data = encode_batch("zstd", encode_events([told]))
        start = time.perf_counter_ns()
        os.pwrite(handle, data, length)
        os.fsync(handle)
        bare.append(time.perf_counter_ns() - start)
        length += len(data)
    os.close(handle)
    await store.shutdown()
    return ours, bare


def _in_memory(setting: Setting) -> Figure:
    """Append a streamed turn, event by event, and turn each event into JSON by the standard library."""
    ours, bare = list[int](), list[int]()
    for _ in range(setting.times(20)):
        session = Session(HEADER, now=lambda: NOW)
        values = [event_to_json(one) for one in whole_turn(0, 1, DELTAS)]
        given: list[dict[str, Any]] = [json.loads(json.dumps(value)) for value in values]
        ours.append(_taken(partial(_append_all, session, given)))
        bare.append(_taken(partial(_dump_all, values)))
    note = f"{DELTAS} deltas and what is around them, {_us(ours)} to {_us(bare)}"
    return Figure(TARGETS["append-memory"], median(ours) / median(bare), 1.0, note)


def _append_all(session: Session, values: list[dict[str, Any]]) -> None:
    for value in values:
        session.append(value["type"], value["data"], surface_op=value.get("surfaceOp"))


def _dump_all(values: Sequence[JsonValue]) -> None:
    for value in values:
        json.dumps(value)


def _late(setting: Setting) -> Figure:
    """Commit batches of one size to one log; the cost is processor time of the thread that commits."""
    taken = list[int]()
    with TemporaryDirectory(prefix="bench-") as folder:
        files = Store(Unsynced(), f"{folder}/sessions", "zstd", Owner(os.getpid(), "here", 1)).fresh(HEADER)
        files.commit([event(0, "turn/start", {"turn": 1})])
        for number in range(setting.batches):
            batch = [text_delta(1 + 4 * number + at, WORDS) for at in range(4)]
            start = time.thread_time_ns()
            files.commit(batch)
            taken.append(time.thread_time_ns() - start)
        files.release()
    first, last = taken[:WINDOW], taken[-WINDOW:]
    note = f"batch {len(taken)} to the first, {_us(last)} to {_us(first)}"
    return Figure(TARGETS["append-late"], median(last) / median(first), 1.0, note)


def _taken(action: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    action()
    return time.perf_counter_ns() - start


def _us(values: list[int]) -> str:
    return f"{median(values) / 1000:.0f} us"
