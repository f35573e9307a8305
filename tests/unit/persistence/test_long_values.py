from __future__ import annotations

import errno
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence import held_session
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.batches import Encoding
from acp_server.persistence.child import inherited_batches
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.long_values import LONGEST
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.raw_batches import read_raw
from acp_server.persistence.torn_tail import salvage_tail
from acp_server.session.events import SessionEvent
from acp_server.session.log import MemoryLog
from tests.support.logs import event, text_delta, user_message, whole_turn
from tests.support.stores import SESSION, Trouble, damage, log_file, new_header, store, write_session

ENCODINGS: list[Encoding] = ["zstd", "none"]
LONG = "a long text \u00e9 " * 20_000
OTHER = LONG.upper()
IDENT = attachment_id(LONG.encode())
NAME = f"attachments/{IDENT}"


def written(root: Path, encoding: Encoding = "zstd", io: Trouble | None = None) -> tuple[list[SessionEvent], Path]:
    """Store a turn, then a batch with a long text between short ones, then a turn; return events and the directory."""
    events, files = write_session(store(root, encoding, io), turns=1)
    middle = [user_message(11, "before"), user_message(12, LONG), user_message(13, "after")]
    files.commit(middle)
    last = whole_turn(14, 2, 5)
    files.commit(last)
    files.release()
    return [*events, *middle, *last], log_file(files).parent


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    damage(path, lambda data: data.pop())


def flip(path: Path) -> None:
    damage(path, lambda data: data.__setitem__(99, data[99] ^ 1))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def replace_folder_by_file(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(b"")


HARM: list[tuple[Callable[[Path], None], str]] = [
    (remove, "is missing"),
    (cut, "is damaged"),
    (flip, "is damaged"),
    (replace_by_folder, "is damaged"),
    (replace_by_link, "cannot be read"),
    (replace_folder_by_file, "cannot be read"),
]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_log_is_short_and_the_text_lies_beside_it(tmp_path: Path, encoding: Encoding) -> None:
    events, directory = written(tmp_path, encoding)
    assert (directory / NAME).read_text("utf-8") == LONG
    assert stat.S_IMODE((directory / NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE((directory / "attachments").stat().st_mode) == 0o700
    assert [path.name for path in (directory / "attachments").iterdir()] == [IDENT]
    (log,) = directory.glob("session.jsonl*")
    assert log.stat().st_size < 5_000
    files, loaded = store(tmp_path, encoding).open(SESSION)
    files.release()
    assert list(loaded.log.since(0)) == events
    assert list(store(tmp_path).suffix(SESSION, 12).since(12)) == events[12:]


def test_the_line_names_place_id_and_size(tmp_path: Path) -> None:
    _, directory = written(tmp_path, "none")
    data = (directory / "session.jsonl").read_bytes()
    payload, _ = read_raw(data, data.index(b'{"type":"user/message","seq":11'))
    line: dict[str, Any] = json.loads(payload.split(b"\n")[1])
    assert line["data"]["content"] == [{"type": "text", "text": ""}]
    assert line["attached"] == [{"at": ["content", 0, "text"], "attachmentId": IDENT, "bytes": len(LONG.encode())}]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("harm", "words"), HARM, ids=lambda case: getattr(case, "__name__", None))
def test_a_lost_text_ends_the_log_before_its_event_and_is_named(
    tmp_path: Path, encoding: Encoding, harm: Callable[[Path], None], words: str
) -> None:
    events, directory = written(tmp_path, encoding)
    harm(directory / NAME)
    (log,) = directory.glob("session.jsonl*")
    before = log.read_bytes()
    where = store(tmp_path, encoding)
    reason = f"event 12 lacks a text, since {NAME} {words}"
    with pytest.raises(PersistenceError, match=reason) as caught:
        where.open(SESSION)
    assert (caught.value.code, caught.value.data["lastSeq"]) == ("SESSION_CORRUPT", 11)
    looked = where.inspect(SESSION)
    assert list(looked.log.since(0)) == events[:12]
    assert looked.read_only is not None
    assert reason in looked.read_only
    report = where.verify(SESSION)
    assert (report.sound, report.events, report.last_seq) == (False, 12, 11)
    assert reason in (report.problem or "")
    assert report.offset == caught.value.data["offset"]
    saved = where.salvage(SESSION, new_header("saved"))
    assert saved.events == 12
    assert reason in saved.lost[0]
    assert "Events 14 to 24" in saved.lost[1]
    assert log.read_bytes() == before
    assert where.verify(SessionId("saved")).sound


def test_a_system_that_refuses_to_read_says_nothing_about_a_text(tmp_path: Path) -> None:
    written(tmp_path)

    class Refusing(Trouble):
        def facts(self, path: str) -> Any:
            if "attachments/" in path:
                raise OSError(errno.EMFILE, "Too many open files")
            return super().facts(path)

    with pytest.raises(PersistenceError, match="too many open files") as caught:
        store(tmp_path, io=Refusing()).inspect(SESSION)
    assert caught.value.code == "DISK_FAILED"


def test_a_log_that_goes_away_while_it_is_read_is_not_found(tmp_path: Path) -> None:
    written(tmp_path)

    class Deleted(Trouble):
        def facts(self, path: str) -> Any:
            if "attachments/" in path:
                store(tmp_path).delete(SESSION)
            return super().facts(path)

    with pytest.raises(PersistenceError) as caught:
        store(tmp_path, io=Deleted()).inspect(SESSION)
    assert caught.value.code == "SESSION_NOT_FOUND"


def test_the_text_is_synced_with_its_names_before_the_batch_is_written(tmp_path: Path) -> None:
    io = Trouble()
    _, files = write_session(store(tmp_path, io=io), turns=1)
    io.calls.clear()
    files.commit([user_message(11, LONG)])
    calls = [call for call in io.calls if call != "write"]
    assert calls[-6:] == ["make_dir", "sync", "rename", "sync_dir", "sync_dir", "sync"]
    io.calls.clear()
    files.commit([user_message(12, LONG)])
    assert [call for call in io.calls if call != "write"] == ["sync"]
    files.release()


def stored(root: Path) -> list[SessionEvent]:
    return list(store(root).inspect(SESSION).log.since(0))


def refused(files: HeldSession, batch: list[SessionEvent]) -> str:
    with pytest.raises(PersistenceError) as caught:
        files.commit(batch)
    return caught.value.code


@pytest.mark.parametrize("call", ["write", "sync", "rename", "make_dir"])
def test_what_fails_before_the_name_is_made_is_tried_again(tmp_path: Path, call: str) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io), turns=1)
    batch = [user_message(11, LONG)]
    io.fail = {call: errno.ENOSPC}
    assert refused(files, batch) == "DISK_FULL"
    io.fail = {}
    assert stored(tmp_path) == events
    files.commit(batch)
    assert stored(tmp_path) == [*events, *batch]
    assert [path.name for path in (log_file(files).parent / "attachments").iterdir()] == [IDENT]
    files.release()


def test_names_that_could_not_be_synced_are_never_trusted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    io = Trouble()
    events, files = write_session(store(tmp_path, io=io), turns=1)
    monkeypatch.setattr(files.journal, "make_directory", lambda: None)
    io.fail = {"sync_dir": errno.EIO}
    assert refused(files, [user_message(11, LONG)]) == "DISK_POISONED"
    io.fail = {}
    assert refused(files, [user_message(11, LONG)]) == "DISK_POISONED"
    assert refused(files, [user_message(11, "short")]) == "DISK_POISONED"
    assert stored(tmp_path) == events
    files.release()


def test_nothing_is_put_beside_a_log_that_somebody_else_wrote_to(tmp_path: Path) -> None:
    _, files = write_session(store(tmp_path), turns=1)
    with log_file(files).open("ab") as file:
        file.write(b"x")
    assert refused(files, [user_message(11, LONG)]) == "DISK_POISONED"
    assert not (log_file(files).parent / "attachments").exists()
    files.release()


def test_a_damaged_attachment_of_that_name_is_written_anew(tmp_path: Path) -> None:
    _, directory = written(tmp_path)
    files, loaded = store(tmp_path).open(SESSION)
    cut(directory / NAME)
    files.commit([user_message(len(loaded.log), LONG)])
    files.release()
    assert (directory / NAME).read_text("utf-8") == LONG


@pytest.mark.parametrize("size", [999, 1001])
def test_a_text_beyond_what_readers_take_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(held_session, "PAYLOAD_LIMIT", LONGEST + 1000)
    files = store(tmp_path).fresh(new_header())
    said = [user_message(0, "x" * (LONGEST + size))]
    if size > 1000:
        assert refused(files, said) == "EVENT_TOO_LARGE"
        assert list(tmp_path.iterdir()) == []
    else:
        files.commit(said)
        assert stored(tmp_path) == said
    files.release()


def test_a_fork_shares_files_and_adds_what_was_pending(tmp_path: Path) -> None:
    where = store(tmp_path)
    events, files = write_session(where, turns=1)
    files.commit([user_message(11, LONG)])
    events += [user_message(11, LONG), user_message(12, OTHER)]
    child, _ = where.fork(SESSION, (MemoryLog(events), len(events)), new_header("child"), None)
    child.release()
    files.release()
    folder = log_file(child).parent / "attachments"
    assert sorted(path.name for path in folder.iterdir()) == sorted([IDENT, attachment_id(OTHER.encode())])
    assert (folder / IDENT).stat().st_nlink == 2
    assert list(where.inspect(SessionId("child")).log.since(0)) == events


def test_a_fork_of_a_live_session_does_not_inherit_a_damaged_file(tmp_path: Path) -> None:
    where = store(tmp_path)
    events, directory = written(tmp_path)
    flip(directory / NAME)
    child, _ = where.fork(SESSION, (MemoryLog(events), len(events)), new_header("child"), None)
    child.release()
    assert list(where.inspect(SessionId("child")).log.since(0)) == events
    assert not where.verify(SESSION).sound


def test_verifying_finds_images_that_are_damaged_or_gone(tmp_path: Path) -> None:
    where = store(tmp_path)
    events, files = write_session(where, turns=1)
    ident = files.put_attachment(b"\x89PNG")
    image = {"attachmentId": ident, "mediaType": "image/png", "bytes": 4, "width": 1, "height": 1}
    message = {
        "id": "m",
        "role": "user",
        "content": [{"type": "image", "attachment": image}],
        "source": {"kind": "user"},
    }
    files.commit([event(len(events), "user/message", message, surface_op="append")])
    files.release()
    assert where.verify(SESSION).sound
    path = log_file(files).parent / "attachments" / ident
    cut(path)
    assert f"{ident} is damaged" in (where.verify(SESSION).problem or "")
    remove(path)
    assert where.verify(SESSION).problem == f"Event 11 names the attachment {ident}, which is not stored."
    assert list(where.inspect(SESSION).log.since(0))[:11] == events


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_torn_end_is_kept_with_its_texts(tmp_path: Path, encoding: Encoding, *, lost: bool) -> None:
    where = store(tmp_path, encoding)
    events, files = write_session(where, turns=1)
    batch = [user_message(11, "before"), user_message(12, LONG), user_message(13, "after")]
    files.commit(batch)
    files.release()
    damage(log_file(files), lambda data: data.__delitem__(slice(-3, None)))
    if lost:
        flip(log_file(files).parent / NAME)
    saved = salvage_tail(where, SESSION, new_header("saved"))
    assert saved.lost or not lost
    assert list(where.inspect(SessionId("saved")).log.since(0)) == [*events, *(batch[:1] if lost else batch)]


def test_inherited_batches_are_cut_by_weight_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acp_server.persistence.child.BATCH_WEIGHT", 5_000)
    monkeypatch.setattr("acp_server.persistence.child.BATCH_EVENTS", 3)
    sizes = [10, 10, 10, 10, 9_000, 2_000, 2_000, 2_000]
    events = [text_delta(seq, "x" * size) for seq, size in enumerate(sizes)]
    batches = list(inherited_batches(events))
    assert [len(batch) for batch in batches] == [3, 1, 1, 2, 1]
    assert [one for batch in batches for one in batch] == events
    assert list(inherited_batches([])) == []
