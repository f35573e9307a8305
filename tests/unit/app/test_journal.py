"""Journals between a session and its store: created late, tried again, patient with a disk for a while."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from acp_server.app import journal as module
from acp_server.app.journal import NewJournal, ReadOnlyJournal, StoredJournal
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.persistence.memory import MemoryPersistence
from acp_server.persistence.port import HealthListener, ObservedSession, PersistenceError, StorageHealth
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from tests.support.clock import settle

FULL = PersistenceError("DISK_FULL", "The disk is full.", {"file": "/log"})
FORBIDDEN = PersistenceError("SESSION_READ_ONLY", "Permission is missing.", {"file": "/log"})
READ_ONLY = PersistenceError("SESSION_READ_ONLY", "The session was opened for reading.")
POISONED = PersistenceError("DISK_POISONED", "The disk did not confirm.", {"file": "/log"})


def new_session() -> Session:
    return Session(SessionHeader(SessionId("s"), 0, "/p"), now=lambda: 1)


def title(session: Session, words: str = "x") -> None:
    session.append("session/title", {"title": words, "messageSeqs": [], "source": {"kind": "user"}})


@dataclass
class TroubledStore(MemoryPersistence):
    """A store in memory whose creations and flushes fail so often as the lists say."""

    creations: list[PersistenceError] = field(default_factory=list)
    flushes: list[PersistenceError] = field(default_factory=list)
    created: int = 0
    barriers: int = 0
    listeners: list[HealthListener] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    async def create(self, header: SessionHeader) -> None:
        self.created += 1
        if self.creations:
            raise self.creations.pop(0)
        await super().create(header)

    def attach(self, session: ObservedSession, on_health: HealthListener | None = None) -> _TroubledJournal:
        super().attach(session, on_health)
        if on_health is not None:
            self.listeners.append(on_health)
        return _TroubledJournal(self)

    async def stored(self) -> list[str]:
        """Return the titles that are stored of the one session."""
        return [str(event.data["title"]) async for event in self.read_from(SessionId("s"), 0)]


@dataclass
class _TroubledJournal:
    store: TroubledStore
    behind: bool = False

    async def room(self) -> None:
        return None

    async def flush(self) -> None:
        if self.store.flushes:
            raise self.store.flushes.pop(0)

    async def barrier(self) -> None:
        self.store.barriers += 1


@dataclass
class Bench:
    """A session with a journal that was made before its first event."""

    store: TroubledStore = field(default_factory=TroubledStore)
    session: Session = field(default_factory=new_session)
    heard: list[StorageHealth] = field(default_factory=list)

    async def give_store(self) -> TroubledStore:
        return self.store

    def new(self) -> NewJournal:
        return NewJournal(self.session, self.give_store, self.heard.append)


async def test_a_session_without_events_never_meets_the_store() -> None:
    bench = Bench()
    journal = bench.new()
    await journal.flush()
    await journal.room()
    await journal.close()
    assert (bench.store.created, journal.behind) == (0, False)


async def test_the_first_event_creates_and_every_event_is_kept() -> None:
    bench = Bench()
    journal = bench.new()
    title(bench.session, "one")
    title(bench.session, "two")
    assert bench.store.created == 0, "whoever appends is not held up"
    await journal.flush()
    title(bench.session, "three")
    await journal.flush()
    assert (bench.store.created, await bench.store.stored()) == (1, ["one", "two", "three"])
    await journal.close()


async def test_a_creation_that_failed_is_told_and_tried_again_by_the_next_flush() -> None:
    bench = Bench(TroubledStore(creations=[FULL, FULL]))
    journal = bench.new()
    title(bench.session, "one")
    await settle()
    assert (bench.store.created, journal.behind) == (1, False)
    with pytest.raises(PersistenceError, match="full"):
        await journal.flush()
    title(bench.session, "two")
    await journal.flush()
    assert (bench.store.created, await bench.store.stored()) == (3, ["one", "two"])


async def test_an_attachment_comes_before_the_first_event_and_creates_the_session_once() -> None:
    bench = Bench()
    journal = bench.new()
    ident = await journal.put(b"picture")
    assert bench.store.created == 1
    title(bench.session, "one")
    await journal.flush()
    assert (bench.store.created, await bench.store.stored()) == (1, ["one"])
    assert await bench.store.get_attachment(SessionId("s"), ident) == b"picture"
    await journal.close()


async def test_a_creation_for_an_attachment_that_failed_is_tried_again_by_the_first_event() -> None:
    bench = Bench(TroubledStore(creations=[FULL]))
    journal = bench.new()
    with pytest.raises(PersistenceError, match="full"):
        await journal.put(b"picture")
    title(bench.session, "one")
    await settle()
    assert (bench.store.created, await bench.store.stored()) == (2, ["one"])


async def test_flushes_at_one_time_share_one_creation() -> None:
    bench = Bench()
    journal = bench.new()
    title(bench.session)
    await asyncio.gather(*(journal.flush() for _ in range(5)))
    assert bench.store.created == 1


async def test_closing_what_could_not_be_created_is_quiet() -> None:
    bench = Bench(TroubledStore(creations=[FULL] * 9))
    journal = bench.new()
    title(bench.session)
    await journal.close()
    assert (await bench.store.list()).entries == ()


async def test_a_flush_that_was_given_up_does_not_end_the_creation() -> None:
    bench = Bench()
    journal = bench.new()
    title(bench.session, "one")
    waiting = asyncio.create_task(journal.flush())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await journal.flush()
    assert await bench.store.stored() == ["one"]


# -- a disk that refuses


async def stored_journal(bench: Bench) -> StoredJournal:
    await bench.store.create(bench.session.header)
    return StoredJournal(bench.session, bench.store, bench.heard.append)


@pytest.mark.parametrize("failure", [FULL, FORBIDDEN])
async def test_a_short_outage_is_waited_for(monkeypatch: pytest.MonkeyPatch, failure: PersistenceError) -> None:
    monkeypatch.setattr(module, "ANOTHER_TRY", 0)
    bench = Bench(TroubledStore(flushes=[failure] * 3))
    await (await stored_journal(bench)).flush()
    assert bench.store.flushes == []


@pytest.mark.parametrize("failure", [READ_ONLY, POISONED])
async def test_what_does_not_pass_is_told_at_once(failure: PersistenceError) -> None:
    bench = Bench(TroubledStore(flushes=[failure, failure]))
    journal = await stored_journal(bench)
    with pytest.raises(PersistenceError) as raised:
        await journal.flush()
    assert (raised.value, len(bench.store.flushes)) == (failure, 1)


async def test_a_long_outage_is_told_at_once_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANOTHER_TRY", 0)
    monkeypatch.setattr(module, "PATIENCE", 0)
    bench = Bench(TroubledStore(flushes=[FULL, FULL]))
    journal = await stored_journal(bench)
    (listener,) = bench.store.listeners
    listener(StorageHealth(SessionId("s"), "failing", "The disk is full.", 1))
    for left in (1, 0):
        with pytest.raises(PersistenceError, match="full"):
            await journal.flush()
        assert len(bench.store.flushes) == left
    monkeypatch.setattr(module, "PATIENCE", 60)
    bench.store.flushes = [FULL]
    listener(StorageHealth(SessionId("s"), "ok"))
    await journal.flush()
    assert bench.store.flushes == []
    assert [health.state for health in bench.heard] == ["failing", "ok"]


async def test_a_barrier_waits_in_the_queue_once_something_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANOTHER_TRY", 0)
    monkeypatch.setattr(module, "PATIENCE", 0)
    bench = Bench(TroubledStore(flushes=[FULL]))
    journal = bench.new()
    title(bench.session)
    with pytest.raises(PersistenceError, match="full"):
        await journal.barrier()
    await journal.barrier()
    assert (bench.store.flushes, bench.store.barriers) == ([], 0)
    bench.store.flushes = [FULL]
    await journal.barrier()
    assert (len(bench.store.flushes), bench.store.barriers) == (1, 1)


async def test_a_barrier_of_a_loaded_session_waits_from_the_start() -> None:
    bench = Bench()
    title(bench.session)
    loaded = Session(bench.session.header, now=lambda: 1, log=bench.session.events)
    await bench.store.create(loaded.header)
    await StoredJournal(loaded, bench.store, bench.heard.append).barrier()
    assert bench.store.barriers == 1


async def test_a_session_without_events_has_no_barrier() -> None:
    bench = Bench()
    await bench.new().barrier()
    assert bench.store.created == 0


# -- for reading only


async def test_a_session_open_for_reading_says_why_and_gives_its_lock_back() -> None:
    released: list[str] = []

    async def release() -> None:
        released.append("s")

    journal = ReadOnlyJournal("its log is damaged", release)
    await journal.room()
    for durable in (journal.flush, journal.barrier):
        with pytest.raises(ServerError) as raised:
            await durable()
        assert (raised.value.code, raised.value.message) == (
            "SESSION_READ_ONLY",
            "This session can be read but not continued: its log is damaged",
        )
    with pytest.raises(ServerError, match="its log is damaged"):
        await journal.put(b"picture")
    await journal.close()
    assert (journal.behind, released) == (False, ["s"])
