from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.places import find_place
from acp_server.persistence.posix_io import PosixIo
from tests.crash.writer import SESSION, batch, expected

ROOT = Path(__file__).parents[2]
BATCHES = 5
KILLS = [
    *(("any", number, "kill") for number in range(1, 25)),
    *(("write", number, "torn") for number in range(1, 9)),
]
ERRORS = [
    (call, number, name + often)
    for call, names in (
        ("write", ("ENOSPC", "EIO", "EDQUOT")),
        ("sync", ("EIO", "ENOSPC")),
        ("sync_dir", ("EIO",)),
        ("link", ("EIO", "EPERM")),
        ("open", ("EMFILE", "EACCES")),
        ("make_dir", ("ENOSPC",)),
        ("truncate", ("EIO",)),
    )
    for name in names
    for often in ("", "+")
    for number in ((1, 2, 4) if call in ("write", "sync") else (1, 2))
]


Said = tuple[int, list[str]]
Doom = tuple[str, int, str]


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

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    made = Maker()
    yield made
    made.close()


def acked(lines: list[str]) -> int:
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK ")), default=-1)


def check(root: Path, promised: int) -> None:
    """Open what a process left: nothing promised is lost, nothing else is there, and it can be written again."""
    store = Store(PosixIo(), str(root), "zstd", Owner(os.getpid(), "here", 1))
    if find_place(PosixIo(), str(root), SESSION) is None:
        assert promised == -1
        return
    files, loaded = store.open(SESSION)
    events = list(loaded.log.since(0))
    assert len(events) > promised
    assert events == expected(20)[: len(events)]
    assert loaded.read_only is None
    more = batch(len(events), 1)
    files.commit(more)
    files.release()
    files, again = store.open(SESSION)
    files.release()
    assert list(again.log.since(0)) == [*events, *more]


@pytest.mark.parametrize("doom", KILLS, ids=lambda doom: "-".join(map(str, doom)))
def test_a_killed_writer_loses_nothing_that_it_promised(
    maker: Maker, tmp_path: Path, doom: tuple[str, int, str]
) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, doom)
    assert (status, "DONE" in lines) in ((-signal.SIGKILL, False), (0, True))
    check(root, acked(lines))


def test_the_kills_are_spread_over_the_life_of_a_writer(maker: Maker, tmp_path: Path) -> None:
    ended = [maker.one(tmp_path / str(number), BATCHES, doom)[0] for number, doom in enumerate(KILLS[::6])]
    assert ended.count(-signal.SIGKILL) >= len(ended) - 1


@pytest.mark.parametrize("doom", ERRORS, ids=lambda doom: "-".join(map(str, doom)))
def test_an_error_of_the_disk_loses_nothing_that_was_promised(
    maker: Maker, tmp_path: Path, doom: tuple[str, int, str]
) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, doom)
    assert (status, lines[-1]) == (0, "DONE")
    if "ERR DISK_POISONED" in lines:
        assert not any(line.startswith("ACK") for line in lines[lines.index("ERR DISK_POISONED") :])
    check(root, acked(lines))


def test_there_are_as_many_errors_and_kills_as_the_plan_asks_for() -> None:
    assert (len(KILLS), len(ERRORS) >= 48) == (32, True)


@pytest.mark.parametrize("at_once", [2, 5])
def test_of_processes_that_open_one_session_at_once_one_owns_it(maker: Maker, tmp_path: Path, at_once: int) -> None:
    root = tmp_path / "sessions"
    promised = acked(maker.one(root, 1)[1])
    said = maker.run(*[f"{root} 2 {100 // at_once}"] * at_once)
    lines = [line for _, lines in said for line in lines]
    assert {status for status, _ in said} == {0}
    assert {line for line in lines if not line.startswith("ACK ")} <= {"OPEN", "DONE", "ERR SESSION_BUSY"}
    assert lines.count("OPEN") + lines.count("ERR SESSION_BUSY") == 100 // at_once * at_once
    assert lines.count("ACK 0") == 0
    acks = sorted(int(line.split()[1]) for line in lines if line.startswith("ACK "))
    assert acks == sorted(set(acks))
    report = Store(PosixIo(), str(root), "zstd", Owner(os.getpid(), "here", 1)).verify(SESSION)
    assert (report.sound, report.last_seq) == (True, max(promised, *acks))


def test_a_session_is_begun_by_one_of_several_processes(maker: Maker, tmp_path: Path) -> None:
    for number in range(20):
        root = tmp_path / str(number)
        said = maker.run(*[f"{root} 2 1"] * 3)
        promised = max(acked(lines) for _, lines in said)
        report = Store(PosixIo(), str(root), "zstd", Owner(os.getpid(), "here", 1)).verify(SESSION)
        assert (report.sound, report.last_seq >= promised >= 0) == (True, True)


def test_a_killed_owner_blocks_nobody(maker: Maker, tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, ("write", 6, "kill"))
    assert (status, acked(lines) >= 0) == (-signal.SIGKILL, True)
    owner = json.loads(next(root.glob("*/*/session.lock")).read_text())
    assert owner["host"] == "here"
    check(root, acked(lines))
