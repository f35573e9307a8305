"""What every SessionPersistence does, whatever it is made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonObject
from acp_server.base.ports import Journal
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.memory import MemoryPersistence
from acp_server.persistence.port import PersistenceError, SessionEntry, SessionPersistence
from acp_server.persistence.write_queue import QueueLimits
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session

KINDS = ("zstd", "none", "memory")


class Times:
    """A clock that goes on by one second at each look."""

    def __init__(self) -> None:
        self.moment = 1_750_000_000_000

    def __call__(self) -> int:
        self.moment += 1000
        return self.moment


def make(kind: str, root: Path) -> SessionPersistence:
    if kind == "memory":
        return MemoryPersistence()
    return JsonlPersistence(root, compression="none" if kind == "none" else "zstd", limits=QueueLimits(window=0.01))


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionPersistence]:
    persistence = make(request.param, tmp_path / "sessions")
    yield persistence
    await persistence.shutdown()


def header(name: str = "s-1", cwd: str | None = "/home/me/project") -> SessionHeader:
    return SessionHeader(SessionId(name), 1_750_000_000_000, cwd)


def message(text: str, ident: str = "m") -> JsonObject:
    return {"id": ident, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def say(session: Session, text: str) -> SessionEvent:
    return session.append("user/message", message(text), surface_op="append")


def run_turn(session: Session, turn: int = 1, deltas: int = 5) -> None:
    session.append("turn/start", {"turn": turn})
    say(session, f"question {turn}")
    session.append("step/start", {"turn": turn, "step": 1})
    for number in range(deltas):
        chunk: JsonObject = {"type": "text-delta", "index": 0, "text": f"word {number} "}
        session.append("assistant/chunk", {"turn": turn, "step": 1, "chunk": chunk})
    answer: JsonObject = {
        "id": f"a-{turn}",
        "role": "assistant",
        "content": [{"type": "text", "text": "words"}],
        "source": {"kind": "model", "provider": "scripted", "model": "demo"},
    }
    session.append("assistant/message", {"turn": turn, "step": 1, "message": answer}, surface_op="append")
    session.append("step/end", {"turn": turn, "step": 1})
    session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def events(session: Session) -> list[SessionEvent]:
    return list(session.events.since(0))


async def started(store: SessionPersistence, name: str = "s-1", cwd: str | None = "/home/me/project") -> Session:
    head = header(name, cwd)
    await store.create(head)
    session = Session(head, now=Times())
    store.attach(session)
    return session


async def stored(
    store: SessionPersistence, name: str = "s-1", cwd: str | None = "/home/me/project"
) -> list[SessionEvent]:
    session = await started(store, name, cwd)
    run_turn(session)
    await store.close(session.id)
    return events(session)


async def code_of(action: Awaitable[object]) -> str:
    with pytest.raises(PersistenceError) as caught:
        await action
    return caught.value.code


async def read_back(store: SessionPersistence, name: str = "s-1", seq: int = 0) -> list[SessionEvent]:
    return [event async for event in store.read_from(SessionId(name), seq)]


async def test_what_was_flushed_is_read_back(store: SessionPersistence) -> None:
    session = await started(store)
    run_turn(session)
    await store.flush(session)
    assert await read_back(store) == events(session)
    assert await read_back(store, seq=4) == events(session)[4:]
    assert await read_back(store, seq=99) == []


async def test_a_loaded_session_goes_on_where_it_was(store: SessionPersistence) -> None:
    before = await stored(store)
    loaded = await store.prepare(SessionId("s-1"))
    assert (loaded.header, list(loaded.log.since(0)), loaded.notices, loaded.read_only) == (header(), before, (), None)
    session = Session(loaded.header, now=Times(), log=loaded.log, seeded=True)
    journal = store.attach(session)
    run_turn(session, 2)
    await journal.flush()
    assert await read_back(store) == events(session)
    assert [event.seq for event in events(session)] == list(range(len(before) + 1 + 11))


async def test_events_reach_the_store_without_a_flush_when_it_is_closed(store: SessionPersistence) -> None:
    before = await stored(store)
    assert await read_back(store) == before


async def test_a_session_without_events_leaves_nothing(store: SessionPersistence) -> None:
    session = await started(store)
    await store.flush(session)
    await store.close(session.id)
    assert (await store.list()).entries == ()
    assert await code_of(store.prepare(session.id)) == "SESSION_NOT_FOUND"
    await store.create(header())


async def test_an_id_is_given_once(store: SessionPersistence) -> None:
    await started(store)
    assert await code_of(store.create(header())) == "SESSION_ALREADY_EXISTS"
    await stored(store, "s-2")
    assert await code_of(store.create(header("s-2"))) == "SESSION_ALREADY_EXISTS"


async def test_only_a_session_that_the_store_knows_is_attached(store: SessionPersistence) -> None:
    session = Session(header(), now=Times())
    with pytest.raises(PersistenceError) as caught:
        store.attach(session)
    assert caught.value.code == "SESSION_NOT_FOUND"
    assert await code_of(store.flush(session)) == "SESSION_NOT_FOUND"
    await store.create(header())
    store.attach(session)
    with pytest.raises(PersistenceError) as again:
        store.attach(session)
    assert again.value.code == "SESSION_ALREADY_EXISTS"


async def test_an_open_session_is_not_prepared_again(store: SessionPersistence) -> None:
    session = await started(store)
    run_turn(session)
    await store.flush(session)
    assert await code_of(store.prepare(session.id)) == "SESSION_BUSY"


async def test_an_interrupted_turn_is_closed_once_and_told(store: SessionPersistence) -> None:
    session = await started(store)
    session.append("turn/start", {"turn": 1})
    say(session, "hello")
    session.append("step/start", {"turn": 1, "step": 1})
    await store.close(session.id)
    looked = await store.inspect(session.id)
    assert len(await read_back(store)) == 3
    loaded = await store.prepare(session.id)
    closed = list(loaded.log.since(0))
    assert [event.type for event in closed[3:]] == ["step/end", "turn/end"]
    assert list(looked.log.since(0)) == closed
    assert await read_back(store) == closed
    await store.close(session.id)
    assert list((await store.prepare(session.id)).log.since(0)) == closed


async def test_inspect_shows_an_open_session_as_it_is(store: SessionPersistence) -> None:
    session = await started(store)
    session.append("turn/start", {"turn": 1})
    await store.flush(session)
    looked = await store.inspect(session.id)
    assert (list(looked.log.since(0)), looked.header) == (events(session), header())
    assert looked.read_only is not None


@pytest.mark.parametrize("verb", ["prepare", "inspect", "verify"])
async def test_an_unknown_session_is_not_found(store: SessionPersistence, verb: str) -> None:
    call: Callable[[SessionId], Awaitable[object]] = getattr(store, verb)
    assert await code_of(call(SessionId("nobody"))) == "SESSION_NOT_FOUND"
    assert await code_of(read_back(store, "nobody")) == "SESSION_NOT_FOUND"
    assert await code_of(store.fork(SessionId("nobody"), header("child"))) == "SESSION_NOT_FOUND"
    assert await code_of(store.salvage(SessionId("nobody"), header("child"))) == "SESSION_NOT_FOUND"


def ids(entries: tuple[SessionEntry, ...]) -> list[str]:
    return [entry.id for entry in entries]


async def test_the_list_is_newest_first_and_comes_in_pages(store: SessionPersistence) -> None:
    for number in range(5):
        await stored(store, f"s-{number}", cwd="/a" if number % 2 else "/b")
    everything = (await store.list()).entries
    assert sorted(ids(everything)) == [f"s-{number}" for number in range(5)]
    assert [entry.updated_at for entry in everything] == sorted((e.updated_at for e in everything), reverse=True)
    walked: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list(cursor=cursor, limit=2)
        walked += ids(page.entries)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert walked == ids(everything)
    assert sorted(ids((await store.list(cwd="/a")).entries)) == ["s-1", "s-3"]
    assert (await store.list(cwd="/c")).entries == ()


async def test_a_cursor_holds_while_sessions_come_and_go(store: SessionPersistence) -> None:
    for number in range(6):
        await stored(store, f"s-{number}")
    order = ids((await store.list()).entries)
    first = await store.list(limit=3)
    await store.delete(SessionId(order[2]))
    await stored(store, "later")
    rest = await store.list(cursor=first.next_cursor, limit=10)
    assert ids(rest.entries) == order[3:]


async def test_the_list_tells_title_and_counts(store: SessionPersistence) -> None:
    session = await started(store)
    run_turn(session)
    session.append("session/title", {"title": "A title", "messageSeqs": [], "source": {"kind": "user"}})
    await store.flush(session)
    (entry,) = (await store.list()).entries
    assert (entry.title, entry.turns, entry.events, entry.cwd) == ("A title", 1, 12, "/home/me/project")
    session.append("session/title", {"title": "Another", "messageSeqs": [], "source": {"kind": "user"}})
    await store.flush(session)
    (entry,) = (await store.list()).entries
    assert (entry.title, entry.events) == ("Another", 13)
    await store.close(session.id)
    (entry,) = (await store.list()).entries
    assert (entry.title, entry.events) == ("Another", 13)


@pytest.mark.parametrize("cursor", ["", "!", "bm90IGpzb24=", "WzFd", "WzEsMl0="])
async def test_a_cursor_of_somebody_else_is_refused(store: SessionPersistence, cursor: str) -> None:
    assert await code_of(store.list(cursor=cursor)) == "INVALID_CURSOR"


async def test_a_deleted_session_is_gone_and_its_id_is_free(store: SessionPersistence) -> None:
    await stored(store)
    await store.delete(SessionId("s-1"))
    await store.delete(SessionId("s-1"))
    assert (await store.list()).entries == ()
    assert await code_of(store.prepare(SessionId("s-1"))) == "SESSION_NOT_FOUND"
    await stored(store)
    await store.delete(SessionId("s-1"))


async def test_an_open_session_can_be_deleted(store: SessionPersistence) -> None:
    session = await started(store)
    run_turn(session)
    await store.delete(session.id)
    assert (await store.list()).entries == ()
    assert await code_of(store.flush(session)) == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("live", [True, False])
async def test_a_fork_holds_the_prefix_and_its_origin(store: SessionPersistence, *, live: bool) -> None:
    session = await started(store)
    run_turn(session, 1)
    run_turn(session, 2)
    if not live:
        await store.close(session.id)
    child = await store.fork(session.id, header("child"), 10)
    assert list(child.log.since(0)) == events(session)[:11]
    assert (child.header.parent_session, child.header.seed_length, child.header.id) == ("s-1", 11, "child")
    grown = Session(child.header, now=Times(), log=child.log, seeded=True)
    journal = store.attach(grown)
    run_turn(grown, 2)
    await journal.flush()
    assert await read_back(store, "child") == events(grown)
    whole = await store.fork(session.id, header("whole"))
    assert list(whole.log.since(0)) == events(session)
    assert await read_back(store, "whole") == events(session)


async def test_a_fork_is_refused_in_mid_turn_and_beyond_the_end(store: SessionPersistence) -> None:
    before = await stored(store)
    source = SessionId("s-1")
    assert await code_of(store.fork(source, header("child"), 3)) == "OPEN_TURN"
    assert await code_of(store.fork(source, header("child"), len(before))) == "INVALID_BOUNDARY"
    assert await code_of(store.fork(source, header("s-1"))) == "SESSION_ALREADY_EXISTS"
    assert await code_of(store.prepare(SessionId("child"))) == "SESSION_NOT_FOUND"


async def test_files_of_a_session_have_a_place_beside_its_log_or_none(store: SessionPersistence) -> None:
    with pytest.raises(PersistenceError) as unknown:
        store.place_beside(SessionId("s-1"))
    assert unknown.value.code == "SESSION_NOT_FOUND"
    session = await started(store)
    run_turn(session)
    await store.flush(session)
    place = store.place_beside(session.id)
    if isinstance(store, JsonlPersistence):
        assert place is not None
        note = Path(place) / "results" / "note.txt"
        note.parent.mkdir()
        note.write_text("x")
        await store.close(session.id)
        assert (await store.verify(session.id)).sound
        await store.delete(session.id)
        assert not note.exists()
    else:
        assert place is None


async def test_attachments_come_back_and_go_with_a_fork(store: SessionPersistence) -> None:
    session = await started(store)
    ident = await store.put_attachment(session.id, b"\x89PNG")
    assert await store.put_attachment(session.id, b"\x89PNG") == ident
    run_turn(session)
    await store.close(session.id)
    assert await store.get_attachment(session.id, ident) == b"\x89PNG"
    await store.fork(session.id, header("child"))
    assert await store.get_attachment(SessionId("child"), ident) == b"\x89PNG"
    for unknown in ("sha256-" + "0" * 64, "../session.lock", ""):
        assert await code_of(store.get_attachment(session.id, unknown)) == "ATTACHMENT_NOT_FOUND"


async def test_long_texts_are_events_like_any_other(store: SessionPersistence) -> None:
    long = "long \u00e9 " * 50_000
    session = await started(store)
    run_turn(session)
    session.append("turn/start", {"turn": 2})
    say(session, long)
    session.append("todo/write", {"todos": [{"content": long}, {"attached": [], "more": long.upper()}]})
    session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
    whole = events(session)
    live = await store.fork(session.id, header("live"))
    assert list(live.log.since(0)) == whole
    await store.close(session.id)
    assert await read_back(store) == whole
    assert await read_back(store, seq=13) == whole[13:]
    assert list((await store.inspect(session.id)).log.since(0)) == whole
    loaded = await store.prepare(session.id)
    assert (list(loaded.log.since(0)), loaded.notices) == (whole, ())
    await store.fork(session.id, header("child"))
    saved = await store.salvage(session.id, header("saved"))
    assert (saved.events, saved.lost) == (len(whole), ())
    await store.delete(session.id)
    for name in ("live", "child", "saved"):
        assert await read_back(store, name) == whole
        assert (await store.verify(SessionId(name))).sound


async def test_the_long_answer_of_an_interrupted_turn_is_kept(store: SessionPersistence) -> None:
    session = await started(store)
    run_turn(session)
    session.append("turn/start", {"turn": 2})
    session.append("step/start", {"turn": 2, "step": 1})
    route: JsonObject = {"config": {"provider": "scripted", "model": "demo"}}
    session.append("request/header", {"header": route, "reason": "initial"})
    for letter in "abcd":
        chunk: JsonObject = {"type": "text-delta", "index": 0, "text": letter * 100_000}
        session.append("assistant/chunk", {"turn": 2, "step": 1, "chunk": chunk})
    await store.close(session.id)
    loaded = await store.prepare(session.id)
    closed = list(loaded.log.since(0))
    assert closed[len(session.events)].type == "assistant/message"
    assert "d" * 100_000 in str(closed[len(session.events)].data)
    await store.close(session.id)
    assert await read_back(store) == closed


async def test_a_sound_session_is_verified_and_salvaged_whole(store: SessionPersistence) -> None:
    before = await stored(store)
    report = await store.verify(SessionId("s-1"))
    assert (report.sound, report.events, report.last_seq, report.problem) == (True, len(before), len(before) - 1, None)
    saved = await store.salvage(SessionId("s-1"), header("saved"))
    assert (saved.id, saved.events, saved.lost) == ("saved", len(before), ())
    assert await read_back(store, "saved") == before


async def test_the_journal_of_a_session_never_blocks_an_idle_producer(store: SessionPersistence) -> None:
    await store.create(header())
    session = Session(header(), now=Times())
    journal: Journal = store.attach(session)
    assert journal.behind is False
    await journal.room()
    await store.room(session)
    say(session, "hello")
    await journal.flush()
    assert await read_back(store) == events(session)


async def test_closing_twice_and_closing_nobody_is_quiet(store: SessionPersistence) -> None:
    await stored(store)
    await store.close(SessionId("s-1"))
    await store.close(SessionId("nobody"))


@pytest.mark.parametrize(("kind", "durable"), [("zstd", True), ("none", True), ("memory", False)])
async def test_who_keeps_nothing_says_so(tmp_path: Path, kind: str, *, durable: bool) -> None:
    store = make(kind, tmp_path)
    assert (store.keeping.durable, store.keeping.notice is None) == (durable, durable)
    await store.shutdown()
