"""A disk that is full and one that cannot be written, as the kernel makes them. Needs the right to mount."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.opening import Store
from acp_server.persistence.port import PersistenceError
from tests.support.logs import event
from tests.support.stores import SESSION, new_header, store, write_session

CANNOT_MOUNT = "only root can mount, and not everywhere"


def mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mount(folder, "size=256k"):
        pytest.skip(CANNOT_MOUNT)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(where: Store, size: int) -> int:
    """Write noise until the disk is full three times; return how many events were kept."""
    files = where.fresh(new_header())
    seq = full = 0
    while full < 3:
        try:
            files.commit([event(seq, "session/title", {"title": os.urandom(size).hex(), "messageSeqs": []})])
            seq += 1
        except PersistenceError as error:
            if error.code != "DISK_FULL":
                raise
            full += 1
    files.release()
    return seq


def test_a_full_disk_keeps_what_it_took_and_is_usable_again(small_disk: Path) -> None:
    where = store(small_disk / "sessions")
    kept = fill(where, 4_000)
    assert where.verify(SESSION).events == kept > 10
    remount(small_disk, "size=1m")
    files, loaded = where.open(SESSION)
    assert (len(loaded.log), loaded.notices, loaded.read_only) == (kept, (), None)
    files.commit([event(kept, "session/title", {"title": "after", "messageSeqs": []})])
    files.release()
    assert where.verify(SESSION).events == kept + 1


def test_a_file_that_may_not_grow_keeps_what_it_took(tmp_path: Path) -> None:
    where, kept = store(tmp_path), -1
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with suppress(BaseException):
            kept = fill(where, 2_000)
        os._exit(kept if 0 < kept < 100 else 255)
    kept = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert 3 < kept < 100
    files, loaded = where.open(SESSION)
    assert (len(loaded.log), loaded.notices, loaded.read_only) == (kept, (), None)
    files.commit([event(kept, "session/title", {"title": "after", "messageSeqs": []})])
    files.release()
    assert where.verify(SESSION).events == kept + 1


def test_a_full_disk_does_not_keep_a_session_from_being_read(small_disk: Path) -> None:
    where = store(small_disk / "sessions")
    kept = fill(where, 4_000)
    (small_disk / "rest").write_bytes(b"")
    with suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(1024))
    files, loaded = where.open(SESSION)
    assert len(loaded.log) == kept
    files.release()


async def test_a_read_only_disk_shows_sessions_and_takes_none(small_disk: Path) -> None:
    events, files = write_session(store(small_disk / "sessions"))
    files.release()
    remount(small_disk, "ro")
    persistence = JsonlPersistence(small_disk / "sessions")
    loaded = await persistence.prepare(SESSION)
    assert list(loaded.log.since(0)) == events
    assert loaded.read_only is not None
    assert "read-only" in loaded.read_only
    assert [entry.id for entry in (await persistence.list()).entries] == [SESSION]
    assert [event.seq async for event in persistence.read_from(SESSION, 30)] == [30, 31, 32]
    with pytest.raises(PersistenceError) as caught:
        await persistence.fork(SESSION, new_header("child"))
    assert caught.value.code == "SESSION_READ_ONLY"
    with pytest.raises(PersistenceError) as again:
        await persistence.delete(SESSION)
    assert again.value.code == "SESSION_READ_ONLY"
    await persistence.shutdown()
