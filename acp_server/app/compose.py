"""The graph of services of a process that serves one editor, built in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from acp_server.acp.access import Access
from acp_server.acp.extensions import Extensions
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_commands import OptionCommands
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.prompts import Prompts
from acp_server.acp.server import Server
from acp_server.acp.stored import Stored
from acp_server.agent.agent import Agent
from acp_server.agent.network import Reach
from acp_server.app.core import Core, build_core
from acp_server.app.editor import Editor
from acp_server.app.log_file import LogFile
from acp_server.app.options import ServeOptions
from acp_server.app.places import account_home, find_places
from acp_server.app.registries import SandboxChoice
from acp_server.base.values import value
from acp_server.jsonrpc.connection import Connection
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.stdio import Stdio
from acp_server.jsonrpc.trace import Trace


@value
class Graph:
    """What serving needs to hold on to."""

    connection: Connection
    peer: Peer
    sessions: OpenSessions
    server: Server
    core: Core
    busy: Callable[[], bool]
    """Whether a stored session is being opened, which takes the whole process when it is long."""


def compose(environment: Mapping[str, str], stdio: Stdio, log: LogFile, options: ServeOptions) -> Graph:
    """Build everything that serves one client; nothing is sent by it.

    Raises:
        ServerError: see build_core.
    """
    trace = Trace(lambda line: log.write("trace", line)) if log.shows("trace") else None
    outbox = Outbox(tap=None if trace is None else trace.outbound)
    editor = Editor()
    typed = OptionCommands(lambda: choices, lambda agent: sessions.find({"sessionId": agent.session.id}))
    core = build_core(environment, log, options, editor, outbox, commands=typed.all())

    def ready() -> None:
        find_places(environment, account_home)

    registry, tables, clock, ids = core.registry, core.tables, core.clock, core.ids
    login = Access(core.reachable)
    sessions = OpenSessions(
        registry, outbox, lambda: tables.commands.items, core.pictures, lambda: tables.command_sources.items
    )
    tables.commands.subscribe(sessions.show_commands)
    tables.show_commands = sessions.show_commands
    registry.observe(created=lambda agent: _greet(agent, core, sessions), disposed=_nothing)
    choices = OptionRoutes(sessions, login, lambda: _network(core), lambda: _compacts(core), core.presets)
    tables.show_options = choices.show_soon
    tables.presets.subscribe(choices.show_soon)
    tables.sandboxes.subscribe(choices.show_soon)
    tables.adapters.subscribe(choices.show_soon)
    prompts = Prompts(registry, sessions, login, choices, clock=clock, ids=ids, ready=ready, connect=core.servers.open)
    stored = Stored(
        registry, sessions, login, choices, core.store.result, clock=clock, ids=ids, connect=core.servers.open
    )
    extensions = Extensions(sessions, choices, core.store.result, outbox)
    server = Server(sessions, prompts, stored, choices, login, extensions=extensions, unstable=options.unstable)
    peer = Peer(server.routes(), outbox, log.note, gate=server.gate)
    editor.join(sessions, peer)
    connection = Connection(
        stdio,
        peer,
        outbox,
        tap=None if trace is None else trace.inbound,
        hint=lambda text: log.write("error", text),
    )
    return Graph(connection, peer, sessions, server, core, lambda: stored.opening)


def _greet(agent: Agent, core: Core, sessions: OpenSessions) -> None:
    """Tell a new session's person what holds for the whole process, once its controller is there."""
    entry, composition = core.tables.stores.last, core.composition
    sentences = [text for text in (composition.notice, None if entry is None else entry.notice) if text is not None]

    def tell() -> None:
        controller = sessions.get(agent.session.id)
        for sentence in sentences:
            if controller is not None:
                controller.tell(sentence)

    asyncio.get_running_loop().call_soon(tell)
    agent.session.observe(lambda event: composition.check() if event.type == "turn/start" else None)
    composition.watch()


def _network(core: Core) -> tuple[Reach, bool]:
    choice = core.tables.sandboxes.last or SandboxChoice()
    return choice.network, bool(choice.hosts)


def _compacts(core: Core) -> bool | None:
    entry = core.tables.keepers.last
    return None if entry is None else entry.auto


def _nothing(_agent: Agent) -> None:
    return None
