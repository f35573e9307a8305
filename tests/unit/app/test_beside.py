from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from acp_server.app import beside as module
from acp_server.app.beside import SessionBeside
from acp_server.base.errors import ServerError
from acp_server.persistence.port import SessionPersistence
from acp_server.session.file_changes import FILE_CHANGE, FileState, change_data
from tests.support.rig import CountingJournal
from tests.support.story import session


class Shelf:
    """The part of a store that keeps bytes, in memory."""

    def __init__(self, place: Path) -> None:
        self.place, self.kept = place, dict[str, bytes]()

    def place_beside(self, _session_id: str) -> str:
        return str(self.place)

    async def put_attachment(self, _session_id: str, content: bytes) -> str:
        self.kept[f"id-{content.decode()}"] = content
        return f"id-{content.decode()}"

    async def get_attachment(self, _session_id: str, ident: str) -> bytes:
        return self.kept[ident]


class Rig:
    def __init__(self, place: Path) -> None:
        self.shelf, self.session, self.journal = Shelf(place), session(), CountingJournal()
        self.beside = SessionBeside(self.session, lambda: cast("SessionPersistence", self.shelf), self.journal)


def contents(path: str) -> tuple[bytes, int]:
    return Path(path).read_bytes(), Path(path).stat().st_mode & 0o777


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_bytes_are_kept_up_to_a_bound_and_come_back(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT_BYTES", 10)
    assert await rig.beside.keep(b"123456") == "id-123456"
    assert await rig.beside.keep(b"12345") is None
    assert await rig.beside.keep(b"1234") == "id-1234"
    assert await rig.beside.fetch("id-1234") == b"1234"


async def test_what_an_earlier_life_kept_counts(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT_BYTES", 10)
    change = change_data("/p/a", FileState("d", 8, "id-old"), FileState(None))
    rig.session.append(FILE_CHANGE, change, ignorable=True)
    assert await rig.beside.keep(b"123") is None
    assert await rig.beside.keep(b"12") == "id-12"


async def test_without_a_store_nothing_is_kept() -> None:
    beside = SessionBeside(session(), lambda: None, CountingJournal())
    assert (await beside.keep(b"a"), await beside.keep_text("a"), await beside.new_file()) == (None, None, None)
    assert (beside.folder, beside.holds("/p/a")) == (None, False)
    with pytest.raises(ServerError, match="not there"):
        await beside.fetch("id-a")


async def test_long_texts_are_private_files_of_the_session(rig: Rig) -> None:
    path = await rig.beside.keep_text("ab\udc00")
    assert path is not None
    assert rig.beside.folder is not None
    assert contents(path) == (b"ab?", 0o600)
    assert rig.beside.folder.stat().st_mode & 0o777 == 0o700
    assert rig.beside.holds(path)
    assert not rig.beside.holds(f"{rig.beside.folder}/../other")


async def test_the_oldest_long_texts_go_first(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RESULT_BYTES", 10)
    paths = [str(await rig.beside.keep_text("x" * 4)) for _ in range(3)]
    for age, path in enumerate(paths):
        os.utime(path, ns=(age, age))
    last = str(await rig.beside.keep_text("y" * 4))
    assert rig.beside.folder is not None
    assert sorted(map(str, rig.beside.folder.iterdir())) == sorted([*paths[1:], last])


async def test_a_disk_that_refuses_costs_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rig = Rig(tmp_path / "file")
    assert (await rig.beside.keep_text("a"), await rig.beside.new_file()) == (None, None)


async def test_settling_is_a_flush_of_the_log(rig: Rig) -> None:
    await rig.beside.settle()
    assert rig.journal.flushed == [0]
