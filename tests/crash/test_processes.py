"""Processes that are killed, whose disk fails, and that want the same session."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.maker import Doom, Maker, acked, broken_promise, judge_race, making, store_at
from tests.crash.writer import SESSION

BATCHES = 5
KILLS = [
    *(("any", number, "kill") for number in range(1, 25)),
    *(("write", number, "torn") for number in range(1, 9)),
]
ERRORS = [
    (call, number, name + often)
    for call, names in (
        ("write", ("ENOSPC", "EIO", "EDQUOT", "EINTR")),
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


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    with making() as made:
        yield made


@pytest.mark.parametrize("doom", KILLS, ids=lambda doom: "-".join(map(str, doom)))
def test_a_killed_writer_loses_nothing_that_it_promised(maker: Maker, tmp_path: Path, doom: Doom) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, doom)
    assert (status, "DONE" in lines) in ((-signal.SIGKILL, False), (0, True))
    assert broken_promise(root, acked(lines)) is None


def test_the_kills_are_spread_over_the_life_of_a_writer(maker: Maker, tmp_path: Path) -> None:
    ended = [maker.one(tmp_path / str(number), BATCHES, doom)[0] for number, doom in enumerate(KILLS[::6])]
    assert ended.count(-signal.SIGKILL) >= len(ended) - 1


@pytest.mark.parametrize("doom", ERRORS, ids=lambda doom: "-".join(map(str, doom)))
def test_an_error_of_the_disk_loses_nothing_that_was_promised(maker: Maker, tmp_path: Path, doom: Doom) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, doom)
    assert (status, lines[-1]) == (0, "DONE")
    if "ERR DISK_POISONED" in lines:
        assert not any(line.startswith("ACK") for line in lines[lines.index("ERR DISK_POISONED") :])
    assert broken_promise(root, acked(lines)) is None


def test_there_are_as_many_errors_and_kills_as_the_plan_asks_for() -> None:
    assert (len(KILLS), len(ERRORS) >= 60) == (32, True)


@pytest.mark.parametrize(("at_once", "rounds"), [(2, 100), (5, 20)])
def test_of_processes_that_open_one_session_at_once_one_owns_it(
    maker: Maker, tmp_path: Path, at_once: int, rounds: int
) -> None:
    root = tmp_path / "sessions"
    promised = acked(maker.one(root, 1)[1])
    lines = maker.race(root, at_once, rounds)
    assert judge_race(root, lines, at_once * rounds, promised) is None


def test_a_session_is_begun_by_one_of_several_processes(maker: Maker, tmp_path: Path) -> None:
    for number in range(20):
        root = tmp_path / str(number)
        said = maker.run(*[f"{root} 2 1"] * 3)
        promised = max(acked(lines) for _, lines in said)
        report = store_at(root).verify(SESSION)
        assert (report.sound, report.last_seq >= promised >= 0) == (True, True)


def test_a_killed_owner_blocks_nobody(maker: Maker, tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    status, lines = maker.one(root, BATCHES, ("write", 6, "kill"))
    assert (status, acked(lines) >= 0) == (-signal.SIGKILL, True)
    owner = json.loads(next(root.glob("*/*/session.lock")).read_text())
    assert owner["host"] == "here"
    assert broken_promise(root, acked(lines)) is None
