from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.io_port import OpenMode
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.recovery import TORN_NOTICE
from acp_server.session.events import SessionEvent
from tests.support.logs import event, log_bytes, user_message, whole_turn
from tests.support.stores import ME, SESSION, Trouble, damage, log_file, new_header, store, write_session

ENCODINGS: list[Encoding] = ["zstd", "none"]


def released(root: Path, encoding: Encoding = "zstd", turns: int = 3) -> tuple[list[SessionEvent], Path]:
    events, files = write_session(store(root, encoding), turns=turns)
    files.release()
    return events, log_file(files)


def code_and_data(where: Store) -> tuple[str, dict[str, object]]:
    with pytest.raises(PersistenceError) as caught:
        where.open(SESSION)
    return caught.value.code, dict(caught.value.data)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_torn_end_is_set_aside_cut_and_told(tmp_path: Path, encoding: Encoding) -> None:
    events, path = released(tmp_path, encoding)
    whole = path.read_bytes()
    damage(path, lambda data: data.__delitem__(slice(-7, None)))
    torn = path.read_bytes()
    files, loaded = store(tmp_path, encoding).open(SESSION)
    kept = (path.parent / "session.torn-1").read_bytes()
    assert list(loaded.log.since(0)) == events[:22]
    assert path.read_bytes() + kept == torn
    assert loaded.notices == (TORN_NOTICE.format(last=21, size=len(kept), name="session.torn-1"),)
    files.commit(events[22:])
    files.release()
    assert path.read_bytes() == whole


def test_the_same_torn_end_is_kept_once_and_another_beside_it(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    good = path.read_bytes()
    for tail in (b"abc", b"abc", b"other"):
        path.write_bytes(good + tail)
        files, _ = store(tmp_path).open(SESSION)
        files.release()
    kept = {name.name: name.read_bytes() for name in path.parent.glob("session.torn-*")}
    assert kept == {"session.torn-1": b"abc", "session.torn-2": b"other"}
    assert path.read_bytes() == good


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_damage_is_reported_and_nothing_is_changed(tmp_path: Path, encoding: Encoding) -> None:
    events, path = released(tmp_path, encoding)
    offset = len(log_bytes([events[:11]], encoding, new_header()))
    damage(path, lambda data: data.__setitem__(offset + 30, data[offset + 30] ^ 1))
    before = path.read_bytes()
    where = store(tmp_path, encoding)
    assert code_and_data(where) == ("SESSION_CORRUPT", {"file": str(path), "offset": offset, "lastSeq": 10})
    looked = where.inspect(SESSION)
    assert list(looked.log.since(0)) == events[:11]
    assert looked.read_only is not None
    assert looked.read_only in looked.notices
    assert str(path) in looked.read_only
    assert f"byte {offset}" in looked.read_only
    report = where.verify(SESSION)
    assert (report.sound, report.events, report.last_seq, report.offset) == (False, 11, 10, offset)
    with pytest.raises(PersistenceError, match="damaged"):
        where.fork(SESSION, None, new_header("child"), None)
    saved = where.salvage(SESSION, new_header("saved"))
    assert (saved.events, len(saved.lost)) == (11, 2)
    assert "Events 22 to 32" in saved.lost[1]
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir() if "torn" in entry.name] == []


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", "SESSION_CORRUPT", "empty"),
        (b"PK\x03\x04", "SESSION_CORRUPT", "no frame begins here"),
        (log_bytes([[user_message(0, "x")]], header=new_header("other")), "SESSION_CORRUPT", "belongs to the session"),
        (log_bytes([[event(0, "future/x", {})]], header=new_header()), "SESSION_UNSUPPORTED", "future/x"),
    ],
    ids=["empty", "other format", "other session", "unknown type"],
)
def test_each_wrong_file_has_its_own_words(tmp_path: Path, content: bytes, code: str, words: str) -> None:
    _, path = released(tmp_path)
    path.write_bytes(content)
    with pytest.raises(PersistenceError, match=words) as caught:
        store(tmp_path).open(SESSION)
    assert caught.value.code == code
    assert path.read_bytes() == content


def test_looking_writes_nothing(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    damage(path, lambda data: data.extend(b"torn"))
    before = {name: (name.read_bytes(), name.stat().st_mtime_ns) for name in path.parent.iterdir()}
    where = store(tmp_path)
    looked = where.inspect(SESSION)
    assert looked.notices == ("The last 4 bytes of the log are not whole and were left out.",)
    where.verify(SESSION)
    list(where.suffix(SESSION, 12).since(12))
    assert {name: (name.read_bytes(), name.stat().st_mtime_ns) for name in path.parent.iterdir()} == before


def test_a_second_owner_is_told_who_has_the_session(tmp_path: Path) -> None:
    _, files = write_session(store(tmp_path))
    other = Store(PosixIo(), str(tmp_path), "zstd", Owner(1, "elsewhere", 9))
    assert code_and_data(other) == ("SESSION_BUSY", {"pid": ME.pid, "host": "here", "start": 7, "alive": None})
    neighbour = Store(PosixIo(), str(tmp_path), "zstd", Owner(1, "here", 9))
    assert code_and_data(neighbour)[1]["alive"] is True
    with pytest.raises(PersistenceError, match="open in this process"):
        store(tmp_path).open(SESSION)
    with pytest.raises(PersistenceError) as caught:
        other.delete(SESSION)
    assert caught.value.code == "SESSION_BUSY"
    files.release()
    opened, _ = other.open(SESSION)
    opened.release()


def test_the_text_of_a_dead_owner_blocks_nobody(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    (path.parent / "session.lock").write_text('{"pid":1,"host":"here","start":1}')
    files, _ = store(tmp_path).open(SESSION)
    files.release()


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_where_nothing_can_be_written_a_session_is_opened_to_be_read(tmp_path: Path, number: int) -> None:
    events, path = released(tmp_path)

    class ReadOnly(PosixIo):
        def open(self, path: str, mode: OpenMode) -> int:
            if mode != "read":
                raise OSError(number, os.strerror(number))
            return super().open(path, "read")

    files, loaded = store(tmp_path, io=ReadOnly()).open(SESSION)
    assert list(loaded.log.since(0)) == events
    assert loaded.read_only is not None
    assert str(path.parent) in loaded.read_only
    with pytest.raises(PersistenceError) as caught:
        files.commit(whole_turn(len(events), 4, 1))
    assert caught.value.code == "SESSION_READ_ONLY"
    files.release()
    assert path.exists()


def test_a_file_system_without_locks_is_read_only(tmp_path: Path) -> None:
    events, _ = released(tmp_path)
    io = Trouble()
    io.fail = {"lock": errno.ENOLCK}
    files, loaded = store(tmp_path, io=io).open(SESSION)
    assert (list(loaded.log.since(0)), loaded.read_only is None) == (events, False)
    files.release()


def test_on_a_full_disk_the_closers_wait_for_space(tmp_path: Path) -> None:
    files = store(tmp_path).fresh(new_header())
    events = whole_turn(0, 1, 5)[:4]
    files.commit(events)
    files.release()

    class NearlyFull(Trouble):
        def write(self, handle: int, data: bytes, offset: int) -> int:
            return PosixIo.write(self, handle, data, offset) if b"pid" in data else super().write(handle, data, offset)

    io = NearlyFull()
    io.fail = {"write": errno.ENOSPC}
    files, loaded = store(tmp_path, io=io).open(SESSION)
    assert loaded.read_only is None
    assert (files.stored, len(loaded.log)) == (4, 6)
    io.fail = {}
    files.commit(list(loaded.log.since(files.stored)))
    files.release()
    opened, again = store(tmp_path).open(SESSION)
    assert list(again.log.since(0)) == list(loaded.log.since(0))
    opened.release()


def test_a_deleted_session_is_kept_in_the_trash(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    content = path.read_bytes()
    for number in (1, 2):
        assert store(tmp_path).delete(SESSION) is not None
        kept = tmp_path / ".trash" / f"s-1.{number}" / path.name
        assert kept.read_bytes() == content
        assert store(tmp_path).delete(SESSION) is None
        _, path = released(tmp_path)


def test_two_logs_of_one_id_are_damage(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    twin = tmp_path / "--q--" / "s-1"
    twin.mkdir(parents=True)
    (twin / path.name).write_bytes(path.read_bytes())
    assert code_and_data(store(tmp_path))[0] == "SESSION_CORRUPT"


def test_the_end_of_a_log_is_read_without_the_rest(tmp_path: Path) -> None:
    class Counting(PosixIo):
        taken = 0

        def read(self, handle: int, size: int, offset: int) -> bytes:
            data = super().read(handle, size, offset)
            self.taken += len(data)
            return data

    events, path = released(tmp_path, turns=60)
    io = Counting()
    assert list(store(tmp_path, io=io).suffix(SESSION, 655).since(655)) == events[655:]
    assert io.taken < path.stat().st_size // 3 + (path.parent / "session.index").stat().st_size
    index = path.parent / "session.index"
    for change in (index.unlink, lambda: index.write_bytes(b"rubbish"), lambda: index.write_bytes(b"")):
        change()
        assert list(store(tmp_path).suffix(SESSION, 655).since(655)) == events[655:]


def test_a_fork_of_many_events_is_there_at_once_or_not_at_all(tmp_path: Path) -> None:
    events, _ = released(tmp_path, turns=30)
    io = Trouble()
    io.fail = {"link": errno.ENOSPC}
    with pytest.raises(PersistenceError):
        store(tmp_path, io=io).fork(SESSION, None, new_header("child"), None)
    with pytest.raises(PersistenceError) as caught:
        store(tmp_path).open(SessionId("child"))
    assert caught.value.code == "SESSION_NOT_FOUND"
    files, loaded = store(tmp_path).fork(SESSION, None, new_header("child"), None)
    files.release()
    assert list(loaded.log.since(0)) == events
    opened, again = store(tmp_path).open(SessionId("child"))
    assert list(again.log.since(0)) == events
    opened.release()


def test_an_old_temporary_file_is_of_no_consequence(tmp_path: Path) -> None:
    events, path = released(tmp_path)
    (path.parent / "session.tmp").write_bytes(b"left by a crash")
    files, loaded = store(tmp_path).open(SESSION)
    assert list(loaded.log.since(0)) == events
    assert not (path.parent / "session.tmp").exists()
    files.release()


def test_a_header_alone_is_an_empty_session(tmp_path: Path) -> None:
    _, path = released(tmp_path)
    path.write_bytes(log_bytes([], header=new_header()))
    files, loaded = store(tmp_path).open(SESSION)
    assert (len(loaded.log), loaded.header) == (0, new_header())
    files.release()
