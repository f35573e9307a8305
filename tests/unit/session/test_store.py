"""Who is entered under which id, and who is told."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.session.log import MemoryLog
from acp_server.session.session import Session
from acp_server.session.store import SessionStore
from tests.support.story import Story, events_of, header


class Watched:
    """A store whose announcements are written down."""

    def __init__(self) -> None:
        self.store = SessionStore(lambda: 5)
        self.told: list[str] = []
        self.store.on_created.append(lambda session: self.told.append(f"created {session.id}"))
        self.store.on_disposed.append(lambda session: self.told.append(f"disposed {session.id}"))


def code(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(ServerError) as caught:
        call(*args, **options)
    return caught.value.code


def test_a_session_is_created_found_and_let_go() -> None:
    watched = Watched()
    session, detach = watched.store.create(SessionId("a"), cwd="/w")
    assert (session.header.created_at, session.header.cwd, session.seq) == (5, "/w", 0)
    assert (watched.store.get(SessionId("a")) is session, watched.store.list()) == (True, (session,))
    detach()
    detach()
    assert (watched.told, watched.store.list()) == (["created a", "disposed a"], ())
    assert code(watched.store.get, SessionId("a")) == "SESSION_NOT_FOUND"


def test_ids_are_minted_past_those_that_are_taken() -> None:
    store = SessionStore(lambda: 5)
    store.create(SessionId("session-2"))
    ids = [store.create()[0].id for _ in range(2)]
    assert ids == ["session-1", "session-3"]
    assert [session.id for session in store.list()] == ["session-2", "session-1", "session-3"]


def test_a_restored_session_ends_its_seed() -> None:
    store = SessionStore(lambda: 5)
    session, _ = store.create(header=header("old"), log=MemoryLog(events_of(Story().whole())))
    assert (session.id, session.events[session.seq - 1].type) == ("old", "session/end-seed")


def test_one_of_several_prepared_sessions_enters() -> None:
    store = SessionStore(lambda: 5)
    one, other = store.prepare(SessionId("a")), store.prepare(SessionId("a"))
    detach = store.enter(one)
    assert code(store.enter, other) == "SESSION_ALREADY_EXISTS"
    assert code(store.prepare, SessionId("a")) == "SESSION_ALREADY_EXISTS"
    detach()
    store.enter(other)
    detach()
    assert store.get(SessionId("a")) is other


def test_a_session_belongs_to_one_store() -> None:
    first, second = SessionStore(lambda: 5), SessionStore(lambda: 5)
    session, detach = first.create(SessionId("a"))
    assert code(second.enter, session) == "SESSION_ATTACHED"
    assert second.list() == ()
    detach()
    second.enter(session)


def test_it_is_announced_once_and_only_while_it_is_live() -> None:
    watched = Watched()
    session = watched.store.prepare(SessionId("a"))
    assert code(watched.store.announce, session) == "SESSION_NOT_LIVE"
    detach = watched.store.enter(session)
    watched.store.announce(session)
    assert code(watched.store.announce, session) == "SESSION_ANNOUNCED"
    detach()
    assert watched.told == ["created a", "disposed a"]


def test_one_that_was_not_announced_is_not_disposed_of() -> None:
    watched = Watched()
    watched.store.enter(watched.store.prepare(SessionId("a")))()
    assert watched.told == []


def test_a_listener_that_refuses_leaves_nothing_behind() -> None:
    watched = Watched()

    def refuse(_session: Session) -> None:
        raise ServerError("NO", "no")

    watched.store.on_created.append(refuse)
    assert code(watched.store.create, SessionId("a")) == "NO"
    assert (watched.told, watched.store.list()) == (["created a", "disposed a"], ())


def test_a_failing_listener_of_disposal_starves_nobody() -> None:
    watched = Watched()
    watched.store.on_disposed.insert(0, lambda _session: 1 / 0)  # type: ignore[arg-type]  # it never returns
    watched.store.create(SessionId("a"))[1]()
    assert watched.told == ["created a", "disposed a"]


def test_leaving_waits_for_the_announcement_and_for_an_append() -> None:
    watched = Watched()
    session = watched.store.prepare(SessionId("a"))
    detach = watched.store.enter(session)
    watched.store.on_created.insert(0, lambda _session: detach())
    watched.store.announce(session)
    assert watched.told == ["created a", "disposed a"]

    session = watched.store.prepare(SessionId("b"))
    detach = watched.store.enter(session)
    session.observe(lambda _event: detach())
    session.observe(lambda _event: watched.told.append(f"live {len(watched.store.list())}"))
    session.append("plan/mode", {"active": True})
    assert (watched.told[2:], watched.store.list()) == (["live 1"], ())


async def test_flush_awaits_every_listener_and_raises_the_first_failure() -> None:
    store, flushed = SessionStore(lambda: 5), list[str]()
    session, detach = store.create(SessionId("a"))
    assert await store.flush(session) is False

    async def fail(_session: Session) -> None:
        flushed.append("fail")
        raise ServerError("DISK", "full")

    async def fine(flushing: Session) -> None:
        flushed.append(flushing.id)

    store.on_flush.append(fine)
    assert await store.flush(session) is True
    store.on_flush.insert(0, fail)
    store.on_flush.insert(1, fail)
    with pytest.raises(ServerError, match="full"):
        await store.flush(session)
    assert flushed == ["a", "fail", "fail", "a"]
    detach()
    with pytest.raises(ServerError) as caught:
        await store.flush(session)
    assert caught.value.code == "SESSION_NOT_LIVE"


def test_a_fork_is_prepared_from_a_live_session() -> None:
    store = SessionStore(lambda: 5)
    parent, detach = store.create(header=header("p"), log=MemoryLog(events_of(Story().whole())))
    child = store.fork(parent, 0, SessionId("c"))
    assert (child.header.parent_session, child.header.seed_length, child.seq) == ("p", 1, 2)
    assert store.fork(parent).header.id == "session-1"
    assert code(store.fork, parent, 99) == "INVALID_BOUNDARY"
    assert code(store.fork, parent, 1) == "OPEN_TURN"
    assert code(store.fork, parent, None, SessionId("p")) == "SESSION_ALREADY_EXISTS"
    detach()
    assert code(store.fork, parent) == "SESSION_NOT_LIVE"


def test_an_empty_session_has_an_empty_child() -> None:
    store = SessionStore(lambda: 5)
    child = store.fork(store.create(SessionId("p"))[0])
    assert (child.header.seed_length, [event.type for event in child.events.since(0)]) == (0, ["session/end-seed"])
