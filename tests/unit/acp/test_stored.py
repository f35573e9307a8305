"""Opening stored sessions: what the person is told, which failure is which error (clauses S-20 to S-66, T-61)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from acp_server.acp.access import Access
from acp_server.acp.offered import Offered
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.stored import Stored, told
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import NoTools
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.jsonrpc.envelope import Call
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Inbound
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig
from acp_server.persistence.memory import MemoryPersistence
from acp_server.persistence.port import (
    BrokenEntry,
    LoadedSession,
    Origin,
    PersistenceError,
    SalvageReport,
    SessionEntry,
    SessionPage,
)
from acp_server.session.header import SessionHeader
from acp_server.session.log import MemoryLog
from acp_server.session.session import Session
from acp_server.session.store import SessionStore
from tests.support.clock import FakeClock
from tests.support.ids import FakeIds
from tests.support.rig import CountingJournal, OpenFlow
from tests.support.story import Story, events_of, user

HERE = CallConfig("here", "m")
HEADER = SessionHeader(SessionId("s"), 0, "/p")
CORRUPT = PersistenceError("SESSION_CORRUPT", "It is damaged.", {"file": "/log", "offset": 7, "lastSeq": 3})
EMPTY = SessionPage(())


class OneModel:
    """A process that reaches one model."""

    def default(self) -> CallConfig | None:
        return HERE

    def usable(self, config: CallConfig) -> bool:
        return config == HERE

    def offered(self) -> Sequence[ModelInfo]:
        return (self.info(HERE),)

    def info(self, config: CallConfig) -> ModelInfo:
        return ModelInfo(config.provider, config.model, config.model)

    def key_name(self, provider: str) -> str | None:
        return None

    def missing(self) -> str:
        return "No key."

    def forget(self) -> None:
        return None


class Shelf(MemoryPersistence):
    """A store that gives what it was told to give, and notes what it was asked."""

    def __init__(self, loaded: LoadedSession | PersistenceError, page: SessionPage = EMPTY) -> None:
        super().__init__()
        self.loaded, self.page = loaded, page
        self.asked: list[str] = []

    async def prepare(self, session_id: SessionId) -> LoadedSession:
        self.asked.append(f"prepare {session_id}")
        if isinstance(self.loaded, PersistenceError) and session_id == HEADER.id:
            raise self.loaded
        return loaded(Story().whole(), ident=session_id)

    async def inspect(self, session_id: SessionId) -> LoadedSession:
        self.asked.append(f"inspect {session_id}")
        return loaded(Story().whole(), notices=("Event 9 is lost.",), read_only="it is damaged")

    async def fork(self, source: SessionId, header: SessionHeader, boundary: int | None = None) -> LoadedSession:
        self.asked.append(f"fork {source} {boundary}")
        if isinstance(self.loaded, PersistenceError):
            raise self.loaded
        return loaded(Story().whole(), ident=header.id)

    async def salvage(self, session_id: SessionId, header: SessionHeader) -> SalvageReport:
        self.asked.append(f"salvage {session_id}")
        return SalvageReport(header.id, 9, ("From byte 7 on: zeros.",))

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = 50, *, origin: Origin = None
    ) -> SessionPage:
        assert origin is None
        self.asked.append(f"list {cwd} {cursor} {limit}")
        return self.page

    async def close(self, session_id: SessionId) -> None:
        self.asked.append(f"close {session_id}")


class Given(Shelf):
    """A store that has one session."""

    def __init__(self, one: LoadedSession) -> None:
        super().__init__(one)
        self.one = one

    async def prepare(self, session_id: SessionId) -> LoadedSession:
        self.asked.append(f"prepare {session_id}")
        return self.one


def loaded(
    story: Story, notices: tuple[str, ...] = (), read_only: str | None = None, ident: str = "s"
) -> LoadedSession:
    header = SessionHeader(SessionId(ident), 0, "/p")
    return LoadedSession(header, MemoryLog(events_of(story)), notices, read_only)


class Bench:
    """The routes over a store, and the frames that they sent."""

    def __init__(self, store: MemoryPersistence, *, notices: bool = True) -> None:
        self.frames: list[Any] = []
        outbox = Outbox(tap=lambda frame: self.frames.append(json.loads(frame)))
        clock, ids = FakeClock(), FakeIds("new")

        async def give() -> MemoryPersistence:
            return store

        def services(session: Session, _read_only: str | None) -> AgentServices:
            return AgentServices(
                runtime=_never,
                tools=NoTools(),
                journal=CountingJournal(lambda: session.seq),
                flow=OpenFlow(),
                clock=clock,
                ids=ids,
                random=lambda: 0.5,
                report=lambda _error: None,
            )

        registry = AgentRegistry(SessionStore(clock.now_ms, lambda *_: None), services)
        self.sessions = OpenSessions(registry, outbox)
        self.sessions.offered = Offered(notices=notices)
        access = Access(OneModel())
        self.stored = Stored(
            registry, self.sessions, access, OptionRoutes(self.sessions, access), give, clock=clock, ids=ids
        )
        self.outbox = outbox

    async def load(self, cwd: str = "/p") -> Mapping[str, Any]:
        given = {"sessionId": "s", "cwd": cwd, "mcpServers": []}
        inbound = Inbound(Call("session/load", given, 1), lambda *_: None, lambda *_: None)
        answer = await self.stored.load(given, inbound)
        for follow in inbound.end():
            follow()
        return answer

    async def fork(self, **given: object) -> Mapping[str, Any]:
        params = {"sessionId": "s", **given}
        return await self.stored.fork(params, Inbound(Call("fork", params, 1), lambda *_: None, lambda *_: None))

    def told(self, ident: str = "s") -> list[str]:
        """Return what would be told about the session and was not shown yet, or was shown as a notice."""
        controller = self.sessions.get(ident)
        assert controller is not None
        return [sentence for _, sentence in controller._untold]


async def _never() -> Any:
    raise AssertionError("no model is asked")


def waiting_story() -> Story:
    story = Story().whole()
    story.queue(user("m2", "still waits"))
    return story


async def test_a_load_tells_what_a_person_has_to_know() -> None:
    story = waiting_story()
    bench = Bench(Given(loaded(story, notices=("The end was cut off.",))), notices=False)
    await bench.load()
    assert bench.told() == [
        "The end was cut off.",
        "scripted/demo is not available; m answers from here on.",
        "1 prompt(s) were never answered. Send `/parked` to see, run or drop them.",
    ]


async def test_what_is_damaged_opens_for_reading_and_another_load_looks_again() -> None:
    store = Shelf(CORRUPT)
    bench = Bench(store, notices=False)
    await bench.load()
    assert bench.told()[:2] == [
        "Event 9 is lost.",
        "This session can be read but not continued: it is damaged",
    ]
    controller = bench.sessions.get("s")
    assert controller is not None
    with pytest.raises(ServerError) as raised:
        controller.require_writable()
    assert raised.value.code == "SESSION_READ_ONLY"
    await bench.load()
    assert store.asked == ["prepare s", "inspect s", "prepare s", "inspect s"]
    assert bench.sessions.get("s") is not controller


async def test_others_run_while_a_long_history_is_replayed() -> None:
    story = Story()
    for number in range(80):
        story.whole(f"m{number}")
    bench, ran = Bench(Given(loaded(story))), 0

    async def other() -> None:
        nonlocal ran
        while True:
            await asyncio.sleep(0)
            ran += bool(bench.outbox.size)

    beside = asyncio.create_task(other())
    await bench.load()
    beside.cancel()
    assert ran >= 3


async def test_a_wrong_directory_gives_the_lock_back() -> None:
    store = Given(loaded(Story().whole()))
    bench = Bench(store)
    with pytest.raises(RpcError) as raised:
        await bench.load("/elsewhere")
    assert (raised.value.rpc_code, bench.sessions.get("s")) == (-32602, None)
    assert store.asked == ["prepare s", "close s"]


async def test_a_fork_of_what_is_damaged_saves_what_can_be_read() -> None:
    store = Shelf(CORRUPT)
    bench = Bench(store, notices=False)
    answer = await bench.fork()
    assert store.asked == ["inspect s", "fork s None", "salvage s", "prepare new-1"]
    assert (answer["sessionId"], bench.told("new-1")[0]) == ("new-1", "From byte 7 on: zeros.")


async def test_a_fork_at_a_place_does_not_settle_for_less() -> None:
    store = Shelf(CORRUPT)
    with pytest.raises(RpcError) as raised:
        await Bench(store).fork(seq=4)
    assert (raised.value.rpc_code, store.asked) == (-32603, ["inspect s", "fork s 4"])


@pytest.mark.parametrize("seq", [-1, "1", 1.5, True])
async def test_a_boundary_is_the_number_of_an_event(seq: object) -> None:
    with pytest.raises(RpcError) as raised:
        await Bench(Shelf(CORRUPT)).fork(seq=seq)
    assert raised.value.rpc_code == -32602


async def test_a_page_of_the_list() -> None:
    entries = (
        SessionEntry(SessionId("a"), "/p", 1, 1_700_000_000_123, "A title"),
        SessionEntry(SessionId("b"), "/p", 1, 0),
        SessionEntry(SessionId("c"), None, 1, 0, "in no directory"),
    )
    store = Shelf(CORRUPT, SessionPage(entries, "next", (BrokenEntry("--p--/d", "It is empty."),)))
    bench = Bench(store)
    request = Inbound(Call("session/list", {}, 1), lambda *_: None, lambda *_: None)
    assert await bench.stored.list({"cwd": "/p/", "cursor": "here"}, request) == {
        "sessions": [
            {"sessionId": "a", "cwd": "/p", "updatedAt": "2023-11-14T22:13:20.123Z", "title": "A title"},
            {"sessionId": "b", "cwd": "/p", "updatedAt": "1970-01-01T00:00:00.000Z"},
        ],
        "nextCursor": "next",
        "_meta": {"acp_server": {"broken": [{"place": "--p--/d", "reason": "It is empty."}]}},
    }
    assert store.asked == ["list /p here 50"]


@pytest.mark.parametrize(
    ("error", "code", "facts"),
    [
        (PersistenceError("SESSION_NOT_FOUND", "No."), -32002, {"sessionId": "s"}),
        (ServerError("INVALID_SESSION_ID", "No."), -32002, {"sessionId": "s"}),
        (PersistenceError("SESSION_BUSY", "Busy.", {"pid": 7, "host": "h", "start": 1}), -32600, {"pid": 7}),
        (PersistenceError("OPEN_TURN", "Open."), -32600, {}),
        (PersistenceError("INVALID_CURSOR", "No."), -32602, {}),
        (PersistenceError("INVALID_BOUNDARY", "No."), -32602, {}),
        (CORRUPT, -32603, {"offset": 7, "lastSeq": 3}),
        (PersistenceError("SESSION_UNSUPPORTED", "Newer.", {"file": "/log"}), -32603, {}),
        (PersistenceError("DISK_FULL", "Full.", {"file": "/log"}), -32603, {}),
        (ServerError("SESSION_READ_ONLY", "Read only."), -32600, {}),
        (ServerError("NO_HOME", "Set it."), -32603, {}),
    ],
)
def test_each_failure_is_one_error(error: ServerError, code: int, facts: Mapping[str, object]) -> None:
    with pytest.raises(RpcError) as raised, told("s"):
        raise error
    assert raised.value.rpc_code == code
    data: Any = raised.value.data
    assert {key: data[key] for key in facts} == facts
    assert "/log" not in json.dumps(data) or error.code == "SESSION_CORRUPT"
