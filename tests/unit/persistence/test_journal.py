from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest

from acp_server.persistence.port import PersistenceError
from tests.support.logs import whole_turn
from tests.support.stores import SESSION, Trouble, log_file, new_header, store, write_session


def stored(root: Path) -> list[object]:
    files, loaded = store(root).open(SESSION)
    files.release()
    return list(loaded.log.since(0))


def names(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


def test_nothing_is_on_disk_before_the_first_event(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "sessions"
    files = store(root).fresh(new_header())
    assert list(tmp_path.iterdir()) == []
    files.release()
    assert list(tmp_path.iterdir()) == []


def test_the_first_batch_makes_private_files_and_syncs_before_it_links(tmp_path: Path) -> None:
    io = Trouble()
    root = tmp_path / "sessions"
    _, files = write_session(store(root, io=io), turns=1)
    calls = io.calls
    assert calls.index("sync") < calls.index("link") < len(calls) - 1 - calls[::-1].index("sync_dir")
    assert names(root) == ["--p--", "--p--/s-1", "--p--/s-1/session.jsonl.zstd", "--p--/s-1/session.lock"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}
    assert {mode for name, mode in modes.items() if name.startswith("session.")} == {0o600}
    assert {mode for name, mode in modes.items() if not name.startswith("session.")} == {0o700}
    files.release()


def test_a_later_batch_is_one_sync(tmp_path: Path) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io))
    io.calls.clear()
    files.commit(whole_turn(len(events), 4, 500))
    assert [call for call in io.calls if call != "write"] == ["sync"]
    files.release()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_failed_write_is_undone_and_can_be_tried_again(tmp_path: Path, number: int) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io))
    before = log_file(files).read_bytes()
    more = whole_turn(len(events), 4, 5)
    io.fail = {"write": number}
    with pytest.raises(PersistenceError) as caught:
        files.commit(more)
    assert caught.value.code == ("DISK_FAILED" if number == errno.EIO else "DISK_FULL")
    assert caught.value.data["file"] == files.place.path
    assert log_file(files).read_bytes() == before
    io.fail = {}
    files.commit(more)
    files.release()
    assert stored(tmp_path) == [*events, *more]


def test_after_a_failed_sync_nothing_is_written_any_more(tmp_path: Path) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io))
    before = log_file(files).read_bytes()
    io.fail = {"sync": errno.EIO}
    for _ in range(2):
        with pytest.raises(PersistenceError) as caught:
            files.commit(whole_turn(len(events), 4, 5))
        assert caught.value.code == "DISK_POISONED"
        io.fail = {}
    assert log_file(files).read_bytes() == before
    files.release()


def test_a_write_that_cannot_be_undone_is_the_last(tmp_path: Path) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io))
    io.fail = {"write": errno.EIO, "truncate": errno.EIO}
    with pytest.raises(PersistenceError) as caught:
        files.commit(whole_turn(len(events), 4, 5))
    assert caught.value.code == "DISK_POISONED"
    files.release()


@pytest.mark.parametrize("call", ["make_dir", "sync_dir", "write", "sync", "link"])
def test_a_first_batch_that_fails_can_be_tried_again(tmp_path: Path, call: str) -> None:
    io = Trouble()
    where = store(tmp_path / "sessions", io=io)
    files = where.fresh(new_header())
    events = whole_turn(0, 1, 5)
    io.fail = {call: errno.ENOSPC}
    with pytest.raises(PersistenceError) as caught:
        files.commit(events)
    assert caught.value.code == "DISK_FULL"
    assert not list(tmp_path.rglob("session.jsonl*"))
    assert not list(tmp_path.rglob("session.tmp"))
    io.fail = {}
    files.commit(events)
    files.release()
    assert stored(tmp_path / "sessions") == events


def test_a_session_that_never_had_an_event_leaves_no_directory(tmp_path: Path) -> None:
    io = Trouble()
    files = store(tmp_path / "sessions", io=io).fresh(new_header())
    io.fail = {"write": errno.ENOSPC}
    with pytest.raises(PersistenceError):
        files.commit(whole_turn(0, 1, 5))
    io.fail = {}
    files.release()
    assert names(tmp_path / "sessions") == ["--p--"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_without_links_a_log_is_moved_into_place(tmp_path: Path, number: int) -> None:
    io = Trouble()
    io.fail = {"link": number}
    events, files = write_session(store(tmp_path, io=io))
    files.release()
    assert stored(tmp_path) == events


def test_a_log_is_never_replaced(tmp_path: Path) -> None:
    for fail in ({}, {"link": errno.EPERM}):
        io = Trouble()
        io.fail = dict(fail)
        root = tmp_path / str(len(fail))
        where = store(root, io=io)
        late = where.fresh(new_header())
        events, files = write_session(where)
        files.release()
        with pytest.raises(PersistenceError) as caught:
            late.commit(whole_turn(0, 1, 2))
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        late.release()
        assert stored(root) == events


def test_a_log_that_somebody_else_wrote_to_is_left_alone(tmp_path: Path) -> None:
    for number, change in enumerate(("append", "replace", "remove")):
        root = tmp_path / str(number)
        events, files = write_session(store(root))
        path = log_file(files)
        if change == "append":
            with path.open("ab") as file:
                file.write(b"x")
        elif change == "replace":
            copy = path.with_name("copy")
            copy.write_bytes(path.read_bytes())
            copy.replace(path)
        else:
            path.unlink()
        with pytest.raises(PersistenceError) as caught:
            files.commit(whole_turn(len(events), 4, 2))
        assert caught.value.code == "DISK_POISONED"
        files.release()


def test_an_event_beyond_any_batch_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acp_server.persistence.held_session.PAYLOAD_LIMIT", 1000)
    files = store(tmp_path).fresh(new_header())
    with pytest.raises(PersistenceError) as caught:
        files.commit(whole_turn(0, 1, 500))
    assert caught.value.code == "EVENT_TOO_LARGE"
    files.release()
