from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.memory import MemoryPersistence
from acp_server.persistence.port import LoadedSession, PersistenceError, StorageHealth
from acp_server.persistence.write_queue import QueueLimits
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session
from tests.support.logs import event, whole_turn
from tests.support.stores import SESSION, Trouble, damage, log_file, new_header, store, write_session

SLOW = QueueLimits(window=3600, first_retry=3600)


def live(loaded: LoadedSession | None = None) -> Session:
    if loaded is None:
        return Session(new_header(), now=lambda: 1)
    return Session(loaded.header, now=lambda: 1, log=loaded.log, seeded=True)


def begin_turn(session: Session) -> list[SessionEvent]:
    return [session.append("turn/start", {"turn": 1}), session.append("step/start", {"turn": 1, "step": 1})]


async def begun(persistence: JsonlPersistence, told: list[StorageHealth] | None = None) -> Session:
    await persistence.create(new_header())
    session = live()
    persistence.attach(session, None if told is None else told.append)
    return session


async def test_a_title_that_no_list_knew_is_in_the_next_one(tmp_path: Path) -> None:
    files = store(tmp_path).fresh(new_header())
    files.commit([*whole_turn(0, 1, 2), event(8, "session/title", {"title": "Old times", "messageSeqs": []})])
    files.release()
    persistence = JsonlPersistence(tmp_path)
    (entry,) = (await persistence.list()).entries
    assert (entry.title, entry.turns, entry.events) == (None, None, None)
    assert persistence._learning is not None
    await persistence._learning
    (entry,) = (await persistence.list()).entries
    assert (entry.title, entry.turns, entry.events) == ("Old times", 1, 9)
    await persistence.shutdown()


async def test_a_broken_session_is_listed_beside_the_others(tmp_path: Path) -> None:
    _, files = write_session(store(tmp_path))
    files.release()
    _, bad = write_session(store(tmp_path), "bad")
    bad.release()
    damage(log_file(bad), bytearray.clear)
    persistence = JsonlPersistence(tmp_path)
    page = await persistence.list()
    assert [entry.id for entry in page.entries] == ["s-1"]
    assert [(one.place, one.reason.endswith("it is empty.")) for one in page.broken] == [("--p--/bad", True)]
    await persistence.shutdown()


async def test_a_full_disk_is_told_and_nothing_is_missing_afterwards(tmp_path: Path) -> None:
    io, told = Trouble(), list[StorageHealth]()
    persistence = JsonlPersistence(tmp_path, io=io, limits=SLOW)
    session = await begun(persistence, told)
    begin_turn(session)
    await persistence.flush(session)
    io.fail = {"write": errno.ENOSPC}
    session.append("step/end", {"turn": 1, "step": 1})
    with pytest.raises(PersistenceError, match="the disk is full") as caught:
        await persistence.flush(session)
    assert caught.value.code == "DISK_FULL"
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    io.fail = {}
    await persistence.flush(session)
    await asyncio.sleep(0)
    assert [health.state for health in told] == ["failing", "ok"]
    await persistence.close(SESSION)
    assert list((await persistence.inspect(SESSION)).log.since(0)) == list(session.events.since(0))
    await persistence.shutdown()


async def test_a_fork_takes_along_what_a_poisoned_log_could_not_keep(tmp_path: Path) -> None:
    io, told = Trouble(), list[StorageHealth]()
    persistence = JsonlPersistence(tmp_path, io=io, limits=SLOW)
    session = await begun(persistence, told)
    begin_turn(session)
    await persistence.flush(session)
    io.fail = {"sync": errno.EIO}
    session.append("step/end", {"turn": 1, "step": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    for _ in range(2):
        with pytest.raises(PersistenceError) as caught:
            await persistence.flush(session)
        assert caught.value.code == "DISK_POISONED"
        io.fail = {}
    assert [health.state for health in told] == ["poisoned"]
    child = await persistence.fork(SESSION, new_header("child"))
    assert list(child.log.since(0)) == list(session.events.since(0))
    await persistence.shutdown()
    assert len(store(tmp_path).inspect(SESSION).log) == 4


async def test_a_read_only_session_shows_its_history_and_refuses_to_flush(tmp_path: Path) -> None:
    events, files = write_session(store(tmp_path))
    files.release()
    io = Trouble()
    io.fail = {"lock": errno.EROFS}
    persistence = JsonlPersistence(tmp_path, io=io, limits=SLOW)
    loaded = await persistence.prepare(SESSION)
    assert (list(loaded.log.since(0)), loaded.read_only is None) == (events, False)
    session = live(loaded)
    persistence.attach(session)
    with pytest.raises(PersistenceError) as caught:
        await persistence.flush(session)
    assert caught.value.code == "SESSION_READ_ONLY"
    await persistence.shutdown()


async def test_two_stores_in_one_place_do_not_share_a_session(tmp_path: Path) -> None:
    one, two = JsonlPersistence(tmp_path, limits=SLOW), JsonlPersistence(tmp_path, limits=SLOW)
    session = await begun(one)
    begin_turn(session)
    await one.flush(session)
    with pytest.raises(PersistenceError) as caught:
        await two.prepare(SESSION)
    assert caught.value.code == "SESSION_BUSY"
    with pytest.raises(PersistenceError) as again:
        await two.create(new_header())
    assert again.value.code == "SESSION_ALREADY_EXISTS"
    assert len((await two.inspect(SESSION)).log) == 4
    await one.shutdown()
    assert len((await two.prepare(SESSION)).log) == 4
    await two.shutdown()


async def test_both_stores_give_back_the_same_events(tmp_path: Path) -> None:
    kept = []
    for persistence in (JsonlPersistence(tmp_path), MemoryPersistence()):
        await persistence.create(new_header())
        session = live()
        journal = persistence.attach(session)
        begin_turn(session)
        await journal.flush()
        await persistence.close(SESSION)
        kept.append(list((await persistence.prepare(SESSION)).log.since(0)))
        await persistence.shutdown()
    assert kept[0] == kept[1]
