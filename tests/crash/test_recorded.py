"""The calls that power is cut behind are those that a real process makes; those of a real server survive the cuts."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.opening import Store
from acp_server.persistence.paths import INDEX_NAME, LOG_NAMES
from acp_server.persistence.posix_io import PosixIo
from tests.crash.campaign import ROOT, check
from tests.crash.disk import Ack, Call, Disk, Entries, Node, Sync, SyncDir, Truncate, Write
from tests.crash.power import states
from tests.crash.recorded import Recording, record, why_not
from tests.crash.straight import BATCHES, work
from tests.e2e.stage import script
from tests.support.launch import REPOSITORY, source_path
from tests.support.stores import ME

SECONDS = 120
STATES = int(os.environ.get("ACP_TEST_RECORDED", "1000"))
NOT_HERE = why_not()
HOME, LOG = "/home", LOG_NAMES["zstd"]
ENCODINGS: tuple[Encoding, ...] = ("zstd", "none")

pytestmark = pytest.mark.skipif(NOT_HERE is not None, reason=str(NOT_HERE))


def acknowledged(disk: Disk, said: bytes) -> None:
    if said.startswith(b"ACK "):
        disk.ack(int(said.removeprefix(b"ACK ")))


def told(calls: Sequence[Call], machine: set[int]) -> Iterator[object]:
    """Iterate over the calls without the content of files that hold facts of one machine."""
    for call in calls:
        yield (call.inode, call.offset, len(call.data)) if isinstance(call, Write) and call.inode in machine else call


def indexes(calls: Sequence[Call]) -> set[int]:
    return {node.inode for name, node in changes(calls) if node is not None and name.startswith(INDEX_NAME)}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_process_makes_the_calls_that_are_simulated(encoding: Encoding, tmp_path: Path) -> None:
    real = straight(encoding, tmp_path).calls
    simulated = Disk()
    simulated.make_dir(HOME)
    simulated.sync_dir("/")
    events = work(simulated, ROOT, encoding, simulated.ack)
    assert list(told(real, indexes(real))) == list(told(simulated.calls, indexes(simulated.calls)))
    assert Ack(len(events) - 1) in real
    assert {type(call) for call in real} == {Write, Sync, SyncDir, Entries, Ack, Truncate}


def test_a_promise_is_made_when_all_is_synced_that_was_written(tmp_path: Path) -> None:
    """The bytes of the log, its name, and each folder above it; whatever the simulation says."""
    calls = straight("zstd", tmp_path).calls
    logs = {node.inode for name, node in changes(calls) if node is not None and name in (LOG, "session.tmp")}
    dirty, unnamed, promises = set[int](), set[int](), 0
    for call in calls:
        match call:
            case Write() | Truncate() if call.inode in logs:
                dirty.add(call.inode)
            case Sync():
                dirty.discard(call.inode)
            case Entries() if any(name == LOG or (node is not None and node.is_dir) for name, node in call.changes):
                unnamed.add(call.directory)
            case SyncDir():
                unnamed.discard(call.inode)
            case Ack():
                promises += 1
                assert (dirty, unnamed) == (set(), set())
    assert promises == 2 * BATCHES + 2


def test_a_whole_server_in_a_turn_survives_a_power_cut_behind_each_call(tmp_path: Path) -> None:
    state, project, trace = tmp_path / "state", tmp_path / "p", tmp_path / "trace"
    for folder in (state, project):
        folder.mkdir()
    home = {"ACP_SERVER_HOME": str(state), "ACP_SERVER_MODEL": "scripted/demo"}
    task = script("think a b c", "say one two", 'call list {"path": "."}', "step", "say the end")
    command = (sys.executable, "-m", "acp_server", "run", task)
    done = record(command, trace, environment={**bare(), **home}, cwd=project, seconds=SECONDS)
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr
    (log,) = (state / "sessions").glob(f"*/*/{LOG}")
    who = SessionId(log.parent.name)
    where = Store(PosixIo(), str(state / "sessions"), "zstd", ME)
    events = list(where.inspect(who).log.since(0))
    ended = max(event.seq for event in events if event.type == "turn/end")

    def answered(disk: Disk, said: bytes) -> None:
        if said == b"the end\n":
            disk.ack(ended)

    disk = Recording(str(state), HOME, answered).play(trace)
    assert Ack(ended) in disk.calls
    random, seen, broken = Random(1), 0, Counter[str]()
    while seen < STATES:
        for cut in states(disk.calls, random, disk.origin):
            seen += 1
            broken.update(check(cut, events, "zstd", random, 0, who))
    assert broken == Counter()


def straight(encoding: Encoding, folder: Path) -> Disk:
    """Return the disk of a process that did the work, its calls recorded."""
    trace = folder / "trace"
    command = (sys.executable, "-m", "tests.crash.straight", str(folder / "sessions"), encoding)
    done = record(command, trace, environment=bare(), cwd=REPOSITORY, seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    return Recording(str(folder), HOME, acknowledged).play(trace)


def bare() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **source_path()}


def changes(calls: Sequence[Call]) -> Iterator[tuple[str, Node | None]]:
    return (change for call in calls if isinstance(call, Entries) for change in call.changes)
