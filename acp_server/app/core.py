"""The services that every front end of a process shares: components, store, models, agents (docs/architecture.md).

Owns the order in which they are made. What carries a session to a person is the front end's, behind the port `Front`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from acp_server.acp.commands import Command
from acp_server.agent.presets import Offer, offered, preset_of
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.app.clock import RandomIds, SystemClock, uniform
from acp_server.app.components import Components
from acp_server.app.composition import Composition
from acp_server.app.family import Family, Kin
from acp_server.app.front import Front
from acp_server.app.journal import NewJournal, ReadOnlyJournal, StoredJournal, words_of
from acp_server.app.limits import DEFAULT
from acp_server.app.log_file import LogFile
from acp_server.app.mcp_sessions import McpSessions
from acp_server.app.model_facts import NO_FACTS
from acp_server.app.options import ServeOptions
from acp_server.app.pictures import Pictures, Remembered
from acp_server.app.providers import ConfiguredModels, ModelOffer
from acp_server.app.registries import ConsentChoice, KeeperKit, LogChoice, Registries, SandboxChoice, StoreEntry
from acp_server.app.session_access import SessionAccess, SessionObserver
from acp_server.app.session_keeper import SessionKeeper
from acp_server.app.session_tools import ToolSessions
from acp_server.app.warm_up import WarmUp
from acp_server.base.errors import ServerError
from acp_server.base.ports import Flow
from acp_server.base.values import value
from acp_server.persistence.port import SessionPersistence, StorageHealth
from acp_server.session.session import Session
from acp_server.session.store import SessionStore

if TYPE_CHECKING:
    from acp_server.agent.titling import Titling
    from acp_server.agent.undo import Undo
    from acp_server.app.beside import SessionBeside
    from acp_server.app.model_runtime import ModelRuntime
    from acp_server.llm.runtime import LlmRuntime

WARM_UP_AFTER: Final = 0.05
SECOND_STEP_AFTER: Final = 0.5
"""Seconds after what a first step needs is there; a model has begun to answer by then."""
"""Seconds after which what a turn needs is loaded though no prompt has come; a first session/new goes before."""


@value
class Core:
    """The shared services of one process, built and not started."""

    environment: Mapping[str, str]
    tables: Registries
    composition: Composition
    reachable: ConfiguredModels
    models: WarmUp[ModelRuntime]
    keepers: WarmUp[None]
    store: WarmUp[SessionPersistence]
    registry: AgentRegistry
    pictures: Pictures
    clock: SystemClock
    ids: RandomIds
    servers: McpSessions

    def presets(self, cwd: str | None) -> Offer:
        """Return the presets of sessions in that directory."""
        return offered(self.tables.presets.items, cwd)

    def warm_up_soon(self, busy: Callable[[], bool]) -> None:
        """Load what a turn needs once the first requests had their chance; not while the process is `busy`."""
        loop = asyncio.get_running_loop()

        def models() -> None:
            if busy():
                loop.call_later(WARM_UP_AFTER, models)
            else:
                self.models.start()

        loop.call_later(WARM_UP_AFTER, self.store.start)
        self.store.then(lambda: loop.call_later(WARM_UP_AFTER, models))
        self.models.then(lambda: loop.call_later(SECOND_STEP_AFTER, self.keepers.start))

    async def close(self) -> None:
        """Give back what the services hold."""
        if self.store.ready:
            await self.store.loaded.shutdown()
        if self.models.ready:
            await self.models.loaded.close()
        await self.servers.shutdown()
        await self.composition.close()


def build_core(
    environment: Mapping[str, str],
    log: LogFile,
    options: ServeOptions,
    front: Front,
    flow: Flow,
    *,
    commands: Sequence[Command] = (),
) -> Core:
    """Build the services; `flow` is what a streaming answer waits for, `commands` are those of the front end.

    Raises:
        ServerError: a layer, a row or the log file is wrong.
    """
    store: WarmUp[SessionPersistence] = WarmUp(lambda: _store(tables).make())
    pictures = Pictures(store.result)
    models = WarmUp(lambda: _load_models(tables, reachable, pictures))
    keepers = WarmUp(lambda: _load_keeper(tables))
    access = SessionAccess(store.result, log.report)
    family = Family(front)
    servers = McpSessions(environment, lambda: tables.mcp_servers.items, family.tell)
    tables = Registries(environment, access, (servers.command(), *commands), family.tell, family)
    composition = Composition(
        environment,
        Components(tables),
        profile=options.profile,
        patches=options.patches,
        tell=front.tell_all,
        front=options.front,
    )
    tables.logs.subscribe(lambda: _turn_log(tables, log))
    composition.start()

    clock, ids = SystemClock(), RandomIds()
    reachable = ConfiguredModels(
        environment, tables.adapters, tables.default_models, composition.require, lambda: tables.facts.last or NO_FACTS
    )
    tools = ToolSessions(
        tables.tools,
        environment,
        ids,
        store=lambda: store.loaded if store.ready else None,
        reads_images=lambda config: reachable.info(config).reads_images,
        front=family,
        remember=lambda: (tables.consents.last or ConsentChoice()).remember,
        sandbox=lambda: tables.sandboxes.last or SandboxChoice(),
        own=lambda ident: servers.tools(family.root(ident)),
        readable=lambda: tuple(path for paths in tables.readable.items for path in paths()),
    )
    for closed in (tools.closed, family.closed):
        tables.observers.add(SessionObserver(closed=closed))

    def services_for(session: Session, read_only: str | None) -> AgentServices:
        journal = _journal(session, read_only, store, family)
        attachments = Remembered(journal, pictures)

        def runtime() -> Awaitable[LlmRuntime]:
            return _runtime(models, tables, servers, family.root(session.id))

        def tell(sentence: str) -> None:
            family.tell(session.id, sentence)

        def beside() -> SessionBeside:
            from acp_server.app.beside import SessionBeside  # noqa: PLC0415 - not for the start path

            return SessionBeside(session, lambda: store.loaded if store.ready else None, journal)

        async def keep_text(text: str) -> str | None:
            return await beside().keep_text(text)

        def undo(used: Callable[[], int | None]) -> Undo:
            from acp_server.agent.undo import Undo  # noqa: PLC0415 - not for the start path
            from acp_server.app.undo_files import SessionFiles  # noqa: PLC0415 - likewise

            client, roots = partial(front.client, str(session.id)), partial(front.roots, str(session.id))
            return Undo(session, SessionFiles(session, beside(), environment, client, roots), journal, ids, used)

        kit = KeeperKit(session, journal, runtime, clock, ids, uniform, log.report, tell, keep_text)
        keeper = SessionKeeper(tables.keepers, kit)
        return AgentServices(
            runtime=runtime,
            tools=tools.open(session, journal, attachments),
            journal=journal,
            flow=flow,
            clock=clock,
            ids=ids,
            random=uniform,
            report=log.report,
            hooks=tables.hooks,
            sections=lambda: preset_of(session.events).sections_of(tables.sections.items),
            variables=lambda: tables.variables.items,
            contexts=lambda: preset_of(session.events).contexts_of(tables.contexts.items),
            title=lambda event: None if tables.titles.last is None else tables.titles.last(event),
            max_steps=lambda: options.max_steps or (tables.limits.last or DEFAULT).max_steps,
            attachments=attachments,
            guard=tools.guard,
            keeper=keeper,
            keeper_loaded=keeper.loaded,
            undo=undo,
            ask=tools.ask,
            release=partial(_release, servers, session.id, _titling(tables, kit)),
        )

    registry = AgentRegistry(SessionStore(clock.now_ms, lambda error, _event: log.report(error)), services_for)
    family.kin = Kin(
        registry,
        store.result,
        clock,
        ids,
        depth=lambda: (tables.limits.last or DEFAULT).subagent_depth,
        most=lambda: (tables.limits.last or DEFAULT).subagents,
    )
    access.serve(tables.observers, tables.projections)
    registry.observe(created=access.opened, disposed=access.closed)
    return Core(
        environment, tables, composition, reachable, models, keepers, store, registry, pictures, clock, ids, servers
    )


def _titling(tables: Registries, kit: KeeperKit) -> Titling | None:
    """Return what asks a model for the session's title: only of one that begins here and is nobody's sub-agent."""
    choice, session = tables.title_choices.last, kit.session
    if choice is None or session.seq or session.header.parent_session is not None:
        return None
    from acp_server.agent.titling import Titling  # noqa: PLC0415 - for who asks for it

    titling = Titling(session, choice.route, kit.runtime, kit.journal, kit.ids, kit.report)
    titling.watch()
    return titling


async def _release(servers: McpSessions, session_id: str, titling: Titling | None) -> None:
    if titling is not None:
        await titling.close()
    await servers.close(session_id)


def _journal(
    session: Session, read_only: str | None, store: WarmUp[SessionPersistence], front: Front
) -> NewJournal | StoredJournal | ReadOnlyJournal:
    def tell(health: StorageHealth) -> None:
        sentence = words_of(health)
        if sentence is not None:
            front.tell(session.id, sentence)

    if read_only is not None:
        return ReadOnlyJournal(read_only, lambda: store.loaded.close(session.id))
    if session.first_live_seq == 0 and session.seq == 0:
        return NewJournal(session, store.result, tell)
    return StoredJournal(session, store.loaded, tell)


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


def _load_models(tables: Registries, reachable: ConfiguredModels, pictures: Pictures) -> ModelRuntime:
    """Runs in the warm-up thread: the import is what takes the time."""
    from acp_server.app.model_runtime import ModelRuntime  # noqa: PLC0415 - adapters are not for the start path

    models = ModelRuntime(_offer(tables), pictures)
    tables.load_toolkits()
    with suppress(ServerError):  # what is wrong with the choice is told where it is used
        config = reachable.default()
        entry = None if config is None else tables.adapters.find(config.provider)
        if entry is not None and not entry.only_named:
            models.load_http(entry.name)
    return models


def _load_keeper(tables: Registries) -> None:
    if tables.keepers.last is not None:
        tables.keepers.last.load()


def _offer(tables: Registries) -> ModelOffer:
    limits, facts = tables.limits.last or DEFAULT, tables.facts.last or NO_FACTS
    return ModelOffer(tables.adapters.items, limits.http, limits.retry, facts)


async def _runtime(
    models: WarmUp[ModelRuntime], tables: Registries, servers: McpSessions, session_id: str
) -> LlmRuntime:
    loaded = await models.result()
    loaded.apply(_offer(tables))
    tables.open_toolkits()
    await servers.ready(session_id)
    return loaded.runtime
