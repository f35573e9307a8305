"""The graph of services of one process, built in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from acp_server.acp.access import Access
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.prompts import Prompts
from acp_server.acp.server import Server
from acp_server.acp.stored import Stored
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import NoTools
from acp_server.app.clock import RandomIds, SystemClock, uniform
from acp_server.app.journal import NewJournal, ReadOnlyJournal, StoredJournal
from acp_server.app.log_file import LogFile
from acp_server.app.places import account_home, find_places
from acp_server.app.providers import EnvironmentModels
from acp_server.app.warm_up import WarmUp
from acp_server.base.ports import HeldJournal
from acp_server.base.values import value
from acp_server.jsonrpc.connection import Connection
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.stdio import Stdio
from acp_server.jsonrpc.trace import Trace
from acp_server.persistence.port import SessionPersistence, StorageHealth
from acp_server.session.session import Session
from acp_server.session.store import SessionStore

if TYPE_CHECKING:
    from acp_server.app.model_runtime import ModelRuntime
    from acp_server.llm.runtime import LlmRuntime

WARM_UP_AFTER: Final = 0.05
"""Seconds after which what a turn needs is loaded though no prompt has come; a first session/new goes before."""


@value
class Graph:
    """What serving needs to hold on to."""

    connection: Connection
    peer: Peer
    sessions: OpenSessions
    server: Server
    models: WarmUp[ModelRuntime]
    store: WarmUp[SessionPersistence]

    def warm_up_soon(self) -> None:
        """Load what a turn needs once the first requests had their chance."""
        loop = asyncio.get_running_loop()
        loop.call_later(WARM_UP_AFTER, self.store.start)
        loop.call_later(WARM_UP_AFTER, self.models.start)

    async def close(self) -> None:
        """Give back what the services hold."""
        if self.store.ready:
            await self.store.loaded.shutdown()
        if self.models.ready:
            await self.models.loaded.close()


def compose(environment: Mapping[str, str], stdio: Stdio, log: LogFile, *, unstable: bool) -> Graph:
    """Build everything that serves one client; nothing is opened, started or sent by it."""
    trace = Trace(lambda line: log.write("trace", line)) if log.shows("trace") else None
    outbox = Outbox(tap=None if trace is None else trace.outbound)
    clock, ids = SystemClock(), RandomIds()
    models = WarmUp(lambda: _load_models(environment))
    store = WarmUp(lambda: _load_store(environment))
    access = Access(EnvironmentModels(environment))

    def journal_for(session: Session, read_only: str | None) -> HeldJournal:
        def tell(health: StorageHealth) -> None:
            controller = sessions.get(session.id)
            if controller is not None and health.reason is not None:
                controller.tell(health.reason)

        if read_only is not None:
            return ReadOnlyJournal(read_only, lambda: store.loaded.close(session.id))
        if session.first_live_seq == 0 and session.seq == 0:
            return NewJournal(session, store.result, tell)
        return StoredJournal(session, store.loaded, tell)

    def services_for(session: Session, read_only: str | None) -> AgentServices:
        return AgentServices(
            runtime=lambda: _runtime(models),
            tools=NoTools(),
            journal=journal_for(session, read_only),
            flow=outbox,
            clock=clock,
            ids=ids,
            random=uniform,
            report=log.report,
        )

    def ready() -> None:
        find_places(environment, account_home)

    registry = AgentRegistry(SessionStore(clock.now_ms, lambda error, _event: log.report(error)), services_for)
    sessions = OpenSessions(registry, outbox)
    prompts = Prompts(registry, sessions, access, clock=clock, ids=ids, ready=ready)
    stored = Stored(registry, sessions, access, store.result, clock=clock, ids=ids)
    server = Server(sessions, prompts, stored, access, unstable=unstable)
    peer = Peer(server.routes(), outbox, log.note, gate=server.gate)
    connection = Connection(
        stdio,
        peer,
        outbox,
        tap=None if trace is None else trace.inbound,
        hint=lambda text: log.write("error", text),
    )
    return Graph(connection, peer, sessions, server, models, store)


def _load_models(environment: Mapping[str, str]) -> ModelRuntime:
    """Runs in the warm-up thread: the import is what takes the time."""
    from acp_server.app.model_runtime import ModelRuntime  # noqa: PLC0415 - the HTTP stack is not for the start path

    return ModelRuntime(environment)


def _load_store(environment: Mapping[str, str]) -> SessionPersistence:
    """Runs in the warm-up thread: likewise."""
    from acp_server.persistence.jsonl import JsonlPersistence  # noqa: PLC0415 - compression is not for the start path

    return JsonlPersistence(find_places(environment, account_home).sessions)


async def _runtime(models: WarmUp[ModelRuntime]) -> LlmRuntime:
    return (await models.result()).runtime
