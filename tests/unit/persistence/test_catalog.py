from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from acp_server.persistence import catalog_db
from acp_server.persistence.catalog import IN_MEMORY_NS, Catalog
from acp_server.persistence.io_port import OpenMode
from acp_server.persistence.paths import CATALOG_NAME
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.summary import Summary, summarize
from tests.support.logs import event, whole_turn
from tests.support.stores import damage, log_file, new_header, store, write_session


class Looking(PosixIo):
    """The real disk, which counts what is read of logs."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(self, path: str, mode: OpenMode) -> int:
        self.opened.append(path.rsplit("/", 1)[1])
        return super().open(path, mode)


def add(root: Path, name: str, moment: int, cwd: str = "/p") -> Path:
    files = store(root).fresh(new_header(name, cwd))
    files.commit(whole_turn(0, 1, 3))
    files.release()
    settle(log_file(files), moment)
    return log_file(files)


def settle(path: Path, moment: int) -> None:
    """Give a log and what is above it a time long ago."""
    os.utime(path, ns=(moment, moment))
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        os.utime(folder, ns=(moment, moment))


def ids(catalog: Catalog, **asked: object) -> list[str]:
    rows, _, _ = catalog.page(asked.get("cwd"), asked.get("after"), 50)  # type: ignore[arg-type]  # two known words
    return [row.id for row in rows]


def test_new_changed_and_vanished_sessions_are_found(tmp_path: Path) -> None:
    catalog = Catalog(PosixIo(), str(tmp_path))
    assert ids(catalog) == []
    first = add(tmp_path, "a", 1_000)
    add(tmp_path, "b", 2_000, "/q")
    assert ids(catalog) == ["b", "a"]
    settle(first, 3_000)
    assert ids(catalog) == ["a", "b"]
    assert ids(catalog, cwd="/q") == ["b"]
    assert store(tmp_path).delete(new_header("a").id) is not None
    assert ids(catalog) == ["b"]
    catalog.close()


def test_a_known_store_is_listed_without_opening_a_log(tmp_path: Path) -> None:
    for number in range(20):
        add(tmp_path, f"s-{number}", number)
    io = Looking()
    Catalog(io, str(tmp_path)).close()
    warm = Catalog(io, str(tmp_path))
    assert len(ids(warm)) == 20
    assert len(io.opened) == 20
    warm.close()
    again = Catalog(io, str(tmp_path))
    assert len(ids(again)) == 20
    assert len(io.opened) == 20
    again.close()


def test_what_was_noted_outlives_the_process(tmp_path: Path) -> None:
    events, files = write_session(store(tmp_path))
    catalog = Catalog(PosixIo(), str(tmp_path))
    catalog.note(files.place, files.header, Summary("A title", 3, len(events)))
    files.release()
    catalog.close()
    again = Catalog(PosixIo(), str(tmp_path))
    ((row,), more, broken) = again.page(None, None, 50)
    assert (row.title, row.turns, row.events, more, broken) == ("A title", 3, len(events), False, [])
    again.close()


@pytest.mark.parametrize("content", [b"", b"rubbish" * 1000, None])
def test_a_catalog_that_is_damaged_or_foreign_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    add(tmp_path, "a", 1_000)
    place = tmp_path / ".catalog.sqlite"
    if content is None:
        other = sqlite3.connect(place)
        other.execute("create table sessions (something integer)")
        other.commit()
        other.close()
    else:
        place.write_bytes(content)
    catalog = Catalog(PosixIo(), str(tmp_path))
    assert ids(catalog) == ["a"]
    catalog.close()
    reader = sqlite3.connect(place)
    assert reader.execute("select id from sessions").fetchall() == [("a",)]
    reader.close()


def test_without_a_place_for_the_catalog_the_list_still_works(tmp_path: Path) -> None:
    add(tmp_path, "a", 1_000)
    (tmp_path / ".catalog.sqlite").mkdir()
    catalog = Catalog(PosixIo(), str(tmp_path))
    assert ids(catalog) == ["a"]
    catalog.close()


def test_a_catalog_that_others_are_busy_with_is_used_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_db, "_BUSY_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    now = [time.time_ns()]
    catalog = Catalog(PosixIo(), str(tmp_path), lambda: now[0])
    add(tmp_path, "a", 1_000)
    assert ids(catalog) == ["a"]
    other = sqlite3.connect(tmp_path / CATALOG_NAME)

    def on_file() -> list[str]:
        return [str(row[0]) for row in other.execute("select id from sessions order by id")]

    other.execute("begin immediate")
    add(tmp_path, "b", 2_000)
    assert ids(catalog) == ["b", "a"]
    other.rollback()
    assert (ids(catalog), on_file()) == (["b", "a"], ["a"])
    now[0] += IN_MEMORY_NS + 1
    assert (ids(catalog), on_file()) == (["b", "a"], ["a", "b"])
    assert not (tmp_path / catalog_db.MEMORY).exists()
    other.close()
    catalog.close()


def test_a_broken_session_is_named_and_stops_no_other(tmp_path: Path) -> None:
    add(tmp_path, "good", 1_000)
    bad = add(tmp_path, "bad", 2_000)
    empty = add(tmp_path, "empty", 3_000)
    moved = add(tmp_path, "moved", 4_000)
    damage(bad, lambda data: data.__setitem__(10, data[10] ^ 1))
    damage(empty, bytearray.clear)
    moved.parent.rename(moved.parent.with_name("elsewhere"))
    catalog = Catalog(PosixIo(), str(tmp_path))
    rows, _, broken = catalog.page(None, None, 50)
    assert [row.id for row in rows] == ["good"]
    assert {row.segment: (row.reason or "").partition(": ")[2] for row in broken} == {
        "bad": "its header cannot be read: the frame's content is damaged.",
        "empty": "it is empty.",
        "elsewhere": "",
    }
    assert catalog.page(None, (5_000, ""), 50)[2] == []
    damage(bad, lambda data: data.__setitem__(10, data[10] ^ 1))
    assert ids(catalog) == ["bad", "good"]
    catalog.close()


def test_a_directory_without_a_log_is_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "--p--" / "s-1").mkdir(parents=True)
    catalog = Catalog(PosixIo(), str(tmp_path))
    assert ids(catalog) == []
    before = (tmp_path / "--p--").stat()
    _, files = write_session(store(tmp_path))
    files.release()
    os.utime(tmp_path / "--p--", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ids(catalog) == ["s-1"]
    catalog.close()


def test_two_processes_share_one_catalog(tmp_path: Path) -> None:
    one, two = (Catalog(PosixIo(), str(tmp_path)) for _ in "ab")
    for number in range(10):
        add(tmp_path, f"s-{number}", number)
        assert ids(one) == ids(two) == [f"s-{at}" for at in range(number, -1, -1)]
    one.close()
    two.close()


def test_a_summary_is_a_fold() -> None:
    events = [
        *whole_turn(0, 1, 2),
        event(8, "session/title", {"title": "One", "messageSeqs": []}),
        event(9, "session/title", {"title": "Two", "messageSeqs": []}),
        event(10, "turn/start", {"turn": 2}),
    ]
    assert summarize(events, len(events)) == Summary("Two", 2, 11)
    assert summarize([], 0) == Summary()
