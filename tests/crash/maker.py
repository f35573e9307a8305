"""Runs writers (tests/crash/writer.py) and holds what they leave to what they promised."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.places import find_place
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.session.events import SessionEvent
from tests.crash.writer import SESSION, batch, expected

ROOT = Path(__file__).parents[2]
MOST_BATCHES = 2_000
"""Batches that a writer is expected to get through at most."""

Said: TypeAlias = tuple[int, list[str]]
"""The exit status of a writer and what it said."""
Doom: TypeAlias = tuple[str, int, str]
"""A kind of call, which one of them, and what happens there."""


class Maker:
    """The process that makes writers."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.crash.writer"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, *writers: str) -> list[Said]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(writers) + "\n")
        return [(status, lines) for status, lines in json.loads(self._process.stdout.readline())]

    def one(self, root: Path, batches: int, doom: Doom | None = None) -> Said:
        return self.run(" ".join(map(str, [root, batches, 1, *(doom or ())])))[0]

    def race(self, root: Path, at_once: int, rounds: int) -> list[str]:
        """Let processes open one session, write and give it back, so often each; return all that they said."""
        said = self.run(*[f"{root} 2 {rounds}"] * at_once)
        assert {status for status, _ in said} == {0}
        return [line for _, lines in said for line in lines]

    def close(self) -> None:
        self._process.communicate(timeout=30)


@contextmanager
def making() -> Iterator[Maker]:
    made = Maker()
    try:
        yield made
    finally:
        made.close()


def acked(lines: list[str]) -> int:
    """Return the last event that a writer said to be durable, -1 for none."""
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK ")), default=-1)


def store_at(root: Path, io: PosixIo | None = None) -> Store:
    return Store(io or PosixIo(), str(root), "zstd", Owner(os.getpid(), "here", 1))


def broken_promise(root: Path, promised: int) -> str | None:
    """Open what a process left and say what is wrong: an event lost or foreign, or a log that takes no more."""
    store = store_at(root)
    if find_place(PosixIo(), str(root), SESSION) is None:
        return None if promised == -1 else f"the session is gone, {promised} was promised"
    try:
        files, loaded = store.open(SESSION)
    except PersistenceError as error:
        return f"taken for damage: {error.code} {error.message}"
    events = list(loaded.log.since(0))
    if len(events) <= promised:
        files.release()
        return f"{len(events)} events are left, {promised} was promised"
    if loaded.read_only is not None or not _were_written(events):
        files.release()
        return f"read-only ({loaded.read_only}), or events that nobody wrote"
    more = batch(len(events), 1)
    files.commit(more)
    files.release()
    files, again = store.open(SESSION)
    files.release()
    return None if list(again.log.since(0)) == [*events, *more] else "what was appended afterwards is lost"


def _were_written(events: list[SessionEvent]) -> bool:
    number = 20
    while number < MOST_BATCHES and len(expected(number)) < len(events):
        number *= 2
    return events == expected(number)[: len(events)]


def judge_race(root: Path, lines: list[str], attempts: int, promised: int) -> str | None:
    """Return what is wrong with a race: an opener that got neither the session nor a refusal, or an event twice."""
    if not {line for line in lines if not line.startswith("ACK ")} <= {"OPEN", "DONE", "ERR SESSION_BUSY"}:
        return f"unexpected: {sorted(set(lines))[:9]}"
    if lines.count("OPEN") + lines.count("ERR SESSION_BUSY") != attempts or lines.count("ACK 0"):
        return "an opener got neither the session nor a refusal, or began it anew"
    acks = sorted(int(line.split()[1]) for line in lines if line.startswith("ACK "))
    report = store_at(root).verify(SESSION)
    if acks != sorted(set(acks)) or not report.sound or report.last_seq != max(promised, *acks, -1):
        return f"events were written twice or lost: {report}"
    return None
