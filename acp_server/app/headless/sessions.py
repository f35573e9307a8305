"""The session that a run works in: a fresh one, a stored one by id, or the newest of the directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from acp_server.acp.options import fitting
from acp_server.agent.agent import Agent
from acp_server.app.core import Core
from acp_server.app.headless.options import RunOptions
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.messages.request import CallConfig
from acp_server.persistence.port import LoadedSession, SessionPersistence
from acp_server.session.header import SessionHeader
from acp_server.session.model_choice import chosen_model

PREFIX: Final = "session-"
"""Before the UUID of a session that a run makes (docs/headless.md, clause H-2)."""


async def enter(core: Core, options: RunOptions, notice: Callable[[str], None]) -> Agent:
    """Return the agent of the session that the options name.

    Raises:
        ServerError: the configuration is wrong, no model can be used, the session is not there, is held by another
            process, or cannot be written.
    """
    core.composition.require()
    default = core.reachable.default()
    stored = options.resume
    if options.newest:
        stored = await _newest(await core.store.result(), options.cwd)
    if stored is None:
        if default is None:
            raise ServerError("MISSING_CREDENTIAL", core.reachable.missing())
        ident = SessionId(PREFIX + core.ids.new())
        return core.registry.create(SessionHeader(ident, core.clock.now_ms(), options.cwd), default)
    store = await core.store.result()
    loaded = await store.prepare(SessionId(stored))
    try:
        return _resumed(core, options, loaded, default, notice)
    except ServerError:
        await store.close(SessionId(stored))
        raise


def _resumed(
    core: Core, options: RunOptions, loaded: LoadedSession, default: CallConfig | None, notice: Callable[[str], None]
) -> Agent:
    for sentence in loaded.notices:
        notice(sentence)
    if loaded.read_only is not None:
        raise ServerError("SESSION_READ_ONLY", f"This session cannot be continued: {loaded.read_only}")
    cwd = loaded.header.cwd
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - paths are text here
        raise ServerError("CWD_GONE", f"The session's directory {cwd} is no longer there.")
    config = _config(core, options, loaded, default, notice)
    agent = core.registry.resume(loaded.header, loaded.log, config)
    if options.model is not None:
        agent.choose(config)
    waiting = len(agent.inbox.parked)
    if waiting and options.task:
        notice(f"{waiting} prompt(s) of an earlier run were never answered; a run without a task does them.")
    return agent


def _config(
    core: Core, options: RunOptions, loaded: LoadedSession, default: CallConfig | None, notice: Callable[[str], None]
) -> CallConfig:
    """Return the model that was named, else the session's own where it can be used, else the default."""
    own = None if options.model is not None else chosen_model(loaded.log.milestones())
    if own is not None and core.reachable.usable(own):
        return fitting(own, core.reachable.info(own))
    if default is None:
        raise ServerError("MISSING_CREDENTIAL", core.reachable.missing())
    if own is not None:
        notice(f"{own.provider}/{own.model} is not available; {default.provider}/{default.model} answers instead.")
    return default


async def _newest(store: SessionPersistence, cwd: str) -> str:
    page = await store.list(cwd, None, 1)
    if not page.entries:
        raise ServerError("SESSION_NOT_FOUND", f"There is no session of {cwd} to continue.")
    return str(page.entries[0].id)
