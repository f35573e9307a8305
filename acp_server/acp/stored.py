"""The methods over stored sessions: list, load, resume, close, delete, and ours for rename and fork.

Owns how a stored session becomes an open one, in what order things are said meanwhile, and which failure of the store
is which error (docs/protocol.md, clauses S-20 to S-66).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

from acp_server.acp import params
from acp_server.acp.access import NOBODY, Access
from acp_server.acp.collector import Collector
from acp_server.acp.controller import Controller, read_only_words
from acp_server.acp.failures import invalid, refused, session_not_found, stored_error
from acp_server.acp.listing import PAGE, list_result
from acp_server.acp.model_words import not_available, readable_only_for_now
from acp_server.acp.open_sessions import Connect, OpenSessions, connect_nothing
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.options import fitting
from acp_server.agent.registry import AgentRegistry
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Clock, Ids
from acp_server.base.values import value
from acp_server.jsonrpc.errors import INVALID_REQUEST, RpcError
from acp_server.jsonrpc.peer import Inbound
from acp_server.messages.request import CallConfig
from acp_server.persistence.below import subagents_below
from acp_server.persistence.port import LoadedSession, PersistenceError, SessionPersistence
from acp_server.session.header import SessionHeader
from acp_server.session.model_choice import CHOICE_TYPES, chosen_model
from acp_server.session.title import normalize_title
from acp_server.tools.mcp.servers import McpServer

Store: TypeAlias = Callable[[], Awaitable[SessionPersistence]]
READABLE_THOUGH_BROKEN: Final = frozenset({"SESSION_CORRUPT"})
UNDO_INTERRUPTED: Final = (
    "An undo was interrupted: some files may have gone back already. `/undo go` goes on with it, `/undo back go` puts "
    "the files as they were."
)
NOTHING_TO_FORK: Final = "The session has no events that a fork could inherit."


@value
class _Fork:
    """What a fork is asked for: the last event to keep, or all that an open source has at that moment."""

    source: SessionId
    keep: int | None
    length: int | None
    cwd: str | None
    mcp_servers: tuple[McpServer, ...]


class Stored:
    """Routes over the store."""

    def __init__(
        self,
        registry: AgentRegistry,
        sessions: OpenSessions,
        access: Access,
        options: OptionRoutes,
        store: Store,
        *,
        clock: Clock,
        ids: Ids,
        connect: Connect = connect_nothing,
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._access = access
        self._options = options
        self._store = store
        self._clock = clock
        self._ids = ids
        self._connect = connect
        self._collector = Collector()
        self._opening = 0

    @property
    def opening(self) -> bool:
        """Return whether a stored session is being opened, its replay included."""
        return self._opening > 0

    async def list(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Return one page, newest first: `session/list`. Never opens a session."""
        cwd = None if given.get("cwd") is None else params.absolute(given, "cwd")
        cursor = params.optional_text(given, "cursor")
        with told(""):
            page = await (await self._store()).list(cwd, cursor, PAGE)
        return list_result(page)

    async def load(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Open a stored session and show its whole history before the answer: `session/load`."""
        return await self._open(params.stored_session(given), request, replay=True)

    async def resume(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Open a stored session without showing anything: `session/resume`."""
        return await self._open(params.stored_session(given), request, replay=False)

    async def close(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - likewise
        """End the session's turns and free what it holds: `session/close`. It stays in the list."""
        await self._sessions.close(params.session_id(given))
        return {}

    async def delete(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - likewise
        """Move the session, and those of its sub-agents, to the trash: `session/delete`. An unknown one is gone."""
        ident = params.session_id(given)
        await self._sessions.close(ident)
        with told(ident):
            if ident:
                store = await self._store()
                below = await subagents_below(store, SessionId(ident))
                for one in (SessionId(ident), *below):
                    await store.delete(one)
        return {}

    def rename(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:  # noqa: ARG002 - likewise
        """Give an open session a title that no automatic one replaces: `_acp_server/session/rename`."""
        controller = self._sessions.find(given)
        title = normalize_title(params.title(given))
        if not title:
            raise invalid("title", "has no words")
        with told(controller.id):
            controller.require_writable()
            controller.agent.rename(title)
        return self._renamed(controller, title)

    async def _renamed(self, controller: Controller, title: str) -> Mapping[str, Any]:
        with told(controller.id):
            await controller.agent.flush()
        return {"title": title}

    def fork(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:
        """Open a session that inherits another's events up to `seq`, or all: `_acp_server/session/fork`.

        All are those that an open session has when the call comes. Of a damaged one all is what can be read.
        """
        source = SessionId(params.session_id(given))
        keep = params.boundary(given)
        cwd = None if given.get("cwd") is None else params.absolute(given, "cwd")
        servers = params.mcp_servers(given)
        known = self._sessions.get(source)
        length = None if known is None else known.agent.session.seq
        if length == 0:
            raise RpcError(INVALID_REQUEST, NOTHING_TO_FORK, {"details": NOTHING_TO_FORK})
        return self._forked(_Fork(source, keep, length, cwd, servers), self._access.config(), request)

    async def _forked(self, asked: _Fork, config: CallConfig, request: Inbound) -> Mapping[str, Any]:
        source, known = asked.source, self._sessions.get(asked.source)
        with told(source):
            store = await self._store()
            if known is not None:
                with suppress(ServerError):  # what the disk does not take is copied from memory
                    await known.agent.flush()
            parent = known.agent.session.header if known is not None else (await store.inspect(source)).header
            if asked.cwd is not None:
                _require_cwd(asked.cwd, parent)
            header = SessionHeader(SessionId(self._ids.new()), self._clock.now_ms(), parent.cwd)
            if asked.keep is None:
                last = None if asked.length is None else asked.length - 1
                loaded = await _all_readable(store, source, header, last)
            else:
                loaded = await store.fork(source, header, asked.keep)
            controller = await self._enter(loaded, config)
        controller.catch_up()
        controller.go_live()
        self._connect(controller.agent.session, asked.mcp_servers)
        request.after_response(controller.greet)
        return {"sessionId": header.id, **self._options.choices(controller)}

    async def _open(self, asked: params.StoredSession, request: Inbound, *, replay: bool) -> Mapping[str, Any]:
        self._opening += 1
        try:
            return await self._opened(asked, request, replay=replay)
        finally:
            self._opening -= 1

    async def _opened(self, asked: params.StoredSession, request: Inbound, *, replay: bool) -> Mapping[str, Any]:
        roots = params.real_roots(asked.roots)
        config, reason = self._access.config_or_reason()
        controller = self._sessions.get(asked.id)
        if controller is not None and controller.read_only is not None:
            await self._sessions.close(asked.id)  # what was in the way may be gone
            controller = None
        if controller is None:
            controller = await self._take(asked, config)
            if config is None and controller.read_only is None:
                controller.tell(readable_only_for_now(reason))
            if not replay:
                controller.catch_up()
        _require_cwd(asked.cwd, controller.agent.session.header)
        _require_quiet(controller)
        controller.roots = roots
        if replay:
            await controller.replay()
        controller.go_live()
        self._connect(controller.agent.session, asked.mcp_servers)
        request.after_response(controller.greet)
        return self._options.choices(controller)

    async def _take(self, asked: params.StoredSession, config: CallConfig | None) -> Controller:
        """Take the stored session's lock and make it live; what is damaged opens for reading."""
        ident = SessionId(asked.id)
        with told(ident):
            store = await self._store()
            with self._collector.resting():
                loaded = await _readable(store, ident)
                try:
                    _require_cwd(asked.cwd, loaded.header)
                    return await self._enter(loaded, config)
                except BaseException:
                    await store.close(ident)
                    raise

    async def _enter(self, loaded: LoadedSession, config: CallConfig | None) -> Controller:
        """Make a session live; without a `config` nobody answers in it, and it keeps the model that it had."""
        session = await asyncio.to_thread(self._registry.prepare, loaded.header, loaded.log, loaded.read_only)
        wanted = chosen_model(loaded.log.of_types(CHOICE_TYPES))
        usable = config is None or wanted is None or self._access.usable(wanted)
        chosen = fitting(wanted, self._access.info(wanted)) if wanted is not None and usable else config or NOBODY
        agent = self._registry.enter(session, chosen, loaded.read_only)
        controller = self._sessions.add(agent)
        controller.read_only, controller.unanswered = loaded.read_only, config is None
        for sentence in loaded.notices:
            controller.tell(sentence)
        if loaded.read_only is not None:
            controller.tell(read_only_words(loaded.read_only))
        if wanted is not None and not usable:
            controller.tell(not_available(wanted, chosen))
        if agent.undo_open and loaded.read_only is None:
            controller.tell(UNDO_INTERRUPTED)
        waiting = len(agent.inbox.parked)
        if waiting:
            controller.tell(f"{waiting} prompt(s) were never answered. Send `/parked` to see, run or drop them.")
        return controller


async def _readable(store: SessionPersistence, ident: SessionId) -> LoadedSession:
    """Return the session held for writing, or, when it is damaged, its good part for reading."""
    try:
        return await store.prepare(ident)
    except PersistenceError as error:
        if error.code not in READABLE_THOUGH_BROKEN:
            raise
        return await store.inspect(ident)


async def _all_readable(
    store: SessionPersistence, source: SessionId, header: SessionHeader, keep: int | None
) -> LoadedSession:
    """Return a child with all of the source's events up to `keep`; of a damaged one with those that can be read."""
    try:
        return await store.fork(source, header, keep)
    except PersistenceError as error:
        if error.code not in READABLE_THOUGH_BROKEN:
            raise
    report = await store.salvage(source, header)
    loaded = await store.prepare(header.id)
    return LoadedSession(loaded.header, loaded.log, (*loaded.notices, *report.lost), loaded.read_only)


@contextmanager
def told(session_id: str) -> Iterator[None]:
    """Turn failures of the server's own into errors on the wire."""
    try:
        yield
    except RpcError:
        raise
    except PersistenceError as error:
        raise stored_error(error, session_id) from error
    except ServerError as error:
        if error.code == "INVALID_SESSION_ID":
            raise session_not_found(session_id) from error
        raise refused(error) from error


def _require_cwd(asked: str, header: SessionHeader) -> None:
    """A session's directory never changes, by whatever path it is named (clause S-26)."""
    if header.cwd is None or asked == params.normal_path(header.cwd):
        return
    if os.path.realpath(asked) != os.path.realpath(header.cwd):
        raise invalid("cwd", f"is {asked!r}, but the session belongs to {header.cwd!r}")


def _require_quiet(controller: Controller) -> None:
    if not controller.agent.idle:
        details = "The session runs a turn; it cannot be loaded again before the turn has ended."
        raise RpcError(INVALID_REQUEST, details, {"details": details, "sessionId": controller.id})
