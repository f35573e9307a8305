"""The graph of services of one process, built in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acp_server.acp.access import Access
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.prompts import Prompts
from acp_server.acp.server import Server
from acp_server.acp.stored import Stored
from acp_server.agent.agent import Agent
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.app.clock import RandomIds, SystemClock, uniform
from acp_server.app.components import Components
from acp_server.app.composition import Composition
from acp_server.app.journal import NewJournal, ReadOnlyJournal, StoredJournal
from acp_server.app.limits import DEFAULT
from acp_server.app.log_file import LogFile
from acp_server.app.model_facts import NO_FACTS
from acp_server.app.options import ServeOptions
from acp_server.app.places import account_home, find_places
from acp_server.app.providers import ConfiguredModels, ModelOffer
from acp_server.app.registries import LogChoice, Registries, StoreEntry
from acp_server.app.session_access import SessionAccess, SessionObserver
from acp_server.app.session_tools import ToolSessions
from acp_server.app.warm_up import WarmUp
from acp_server.base.errors import ServerError
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
    from acp_server.acp.permissions import Permissions
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
    composition: Composition

    def warm_up_soon(self) -> None:
        """Load what a turn needs once the first requests had their chance."""
        loop = asyncio.get_running_loop()
        loop.call_later(WARM_UP_AFTER, self.store.start)
        self.store.then(lambda: loop.call_later(WARM_UP_AFTER, self.models.start))

    async def close(self) -> None:
        """Give back what the services hold."""
        if self.store.ready:
            await self.store.loaded.shutdown()
        if self.models.ready:
            await self.models.loaded.close()
        await self.composition.close()


def compose(environment: Mapping[str, str], stdio: Stdio, log: LogFile, options: ServeOptions) -> Graph:
    """Build everything that serves one client; nothing is sent by it."""
    store: WarmUp[SessionPersistence] = WarmUp(lambda: _store(tables).make())
    models = WarmUp(lambda: _load_models(tables, reachable))
    access = SessionAccess(store.result, log.report)
    tables = Registries(environment, access)
    composition = Composition(
        environment,
        Components(tables),
        profile=options.profile,
        patches=options.patches,
        tell=lambda sentence: sessions.tell_all(sentence),  # noqa: PLW0108 - it is made below
    )
    tables.logs.subscribe(lambda: _turn_log(tables, log))
    composition.start()

    trace = Trace(lambda line: log.write("trace", line)) if log.shows("trace") else None
    outbox = Outbox(tap=None if trace is None else trace.outbound)
    clock, ids = SystemClock(), RandomIds()
    reachable = ConfiguredModels(
        environment, tables.adapters, tables.default_models, composition.require, lambda: tables.facts.last or NO_FACTS
    )
    login = Access(reachable)

    tools = ToolSessions(
        tables.tools,
        environment,
        ids,
        asker=lambda ident: _asker(peer, sessions, ident),
        progress=lambda ident, call_id, text: _progress(sessions, ident, call_id, text),
    )
    tables.hooks.pre_tool.add(tools.guard)
    tables.observers.add(SessionObserver(closed=tools.closed))

    def services_for(session: Session, read_only: str | None) -> AgentServices:
        journal = _journal(session, read_only, store, sessions)
        return AgentServices(
            runtime=lambda: _runtime(models, tables),
            tools=tools.open(session, journal),
            journal=journal,
            flow=outbox,
            clock=clock,
            ids=ids,
            random=uniform,
            report=log.report,
            hooks=tables.hooks,
            sections=lambda: tables.sections.items,
            contexts=lambda: tables.contexts.items,
            title=lambda event: None if tables.titles.last is None else tables.titles.last(event),
            max_steps=lambda: (tables.limits.last or DEFAULT).max_steps,
            ask=tools.ask,
        )

    def ready() -> None:
        find_places(environment, account_home)

    registry = AgentRegistry(SessionStore(clock.now_ms, lambda error, _event: log.report(error)), services_for)
    sessions = OpenSessions(registry, outbox, lambda: tables.commands.items)
    tables.commands.subscribe(sessions.show_commands)
    access.serve(tables.observers, tables.projections)
    registry.observe(created=access.opened, disposed=access.closed)
    registry.observe(created=lambda agent: _greet(agent, tables, sessions, composition), disposed=_nothing)
    choices = OptionRoutes(sessions, login)
    tables.adapters.subscribe(choices.show_soon)
    prompts = Prompts(registry, sessions, login, choices, clock=clock, ids=ids, ready=ready)
    stored = Stored(registry, sessions, login, choices, store.result, clock=clock, ids=ids)
    server = Server(sessions, prompts, stored, choices, login, unstable=options.unstable)
    peer = Peer(server.routes(), outbox, log.note, gate=server.gate)
    connection = Connection(
        stdio,
        peer,
        outbox,
        tap=None if trace is None else trace.inbound,
        hint=lambda text: log.write("error", text),
    )
    return Graph(connection, peer, sessions, server, models, store, composition)


def _asker(peer: Peer, sessions: OpenSessions, ident: str) -> Permissions:
    from acp_server.acp.permissions import Permissions  # noqa: PLC0415 - tools are not for the start path

    def wire_id(call_id: str) -> str:
        controller = sessions.get(ident)
        return call_id if controller is None else controller.wire_id(call_id)

    return Permissions(peer, ident, wire_id)


def _progress(sessions: OpenSessions, ident: str, call_id: str, text: str) -> None:
    controller = sessions.get(ident)
    if controller is not None:
        controller.progress(call_id, text)


def _journal(
    session: Session, read_only: str | None, store: WarmUp[SessionPersistence], sessions: OpenSessions
) -> HeldJournal:
    def tell(health: StorageHealth) -> None:
        controller = sessions.get(session.id)
        if controller is not None and health.reason is not None:
            controller.tell(health.reason)

    if read_only is not None:
        return ReadOnlyJournal(read_only, lambda: store.loaded.close(session.id))
    if session.first_live_seq == 0 and session.seq == 0:
        return NewJournal(session, store.result, tell)
    return StoredJournal(session, store.loaded, tell)


def _greet(agent: Agent, tables: Registries, sessions: OpenSessions, composition: Composition) -> None:
    """Tell a new session's person what holds for the whole process, once its controller is there."""
    entry = tables.stores.last
    sentences = [text for text in (composition.notice, None if entry is None else entry.notice) if text is not None]

    def tell() -> None:
        controller = sessions.get(agent.session.id)
        for sentence in sentences:
            if controller is not None:
                controller.tell(sentence)

    asyncio.get_running_loop().call_soon(tell)
    agent.session.observe(lambda event: composition.check() if event.type == "turn/start" else None)
    composition.watch()


def _turn_log(tables: Registries, log: LogFile) -> None:
    choice = tables.logs.last or LogChoice(None, None)
    wrong = log.turn_to(choice.file, choice.level)
    if wrong is not None:
        raise ServerError("LOG_FAILED", wrong)


def _store(tables: Registries) -> StoreEntry:
    entry = tables.stores.last
    if entry is None:
        raise ServerError("NO_STORE", "No row registers a store of sessions.")
    return entry


def _load_models(tables: Registries, reachable: ConfiguredModels) -> ModelRuntime:
    """Runs in the warm-up thread: the import is what takes the time."""
    from acp_server.app.model_runtime import ModelRuntime  # noqa: PLC0415 - adapters are not for the start path

    models = ModelRuntime(_offer(tables))
    tables.load_toolkits()
    with suppress(ServerError):  # what is wrong with the choice is told where it is used
        config = reachable.default()
        entry = None if config is None else tables.adapters.find(config.provider)
        if entry is not None and not entry.only_named:
            models.load_http(entry.name)
    return models


def _offer(tables: Registries) -> ModelOffer:
    limits, facts = tables.limits.last or DEFAULT, tables.facts.last or NO_FACTS
    return ModelOffer(tables.adapters.items, limits.http, limits.retry, facts)


async def _runtime(models: WarmUp[ModelRuntime], tables: Registries) -> LlmRuntime:
    loaded = await models.result()
    loaded.apply(_offer(tables))
    tables.open_toolkits()
    return loaded.runtime


def _nothing(_agent: Agent) -> None:
    return None
