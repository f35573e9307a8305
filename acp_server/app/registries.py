"""What components register, by kind; and what one component is given to do so.

Owns the tables of a process and that whatever a component has registered goes away with it.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from acp_server.acp.commands import Command, CommandSource
from acp_server.agent.contexts import Context
from acp_server.agent.hooks import Execute, Hooks, PostTool, PreStep, PreTool, Request, Stream, TurnStopping
from acp_server.agent.keeping import Keeper
from acp_server.agent.presets import PresetSource
from acp_server.agent.services import Title
from acp_server.agent.system_prompt import VARIABLES, Section, Variable
from acp_server.app.family import Family
from acp_server.app.limits import Limits
from acp_server.app.log_file import Level
from acp_server.app.machine import Machine
from acp_server.app.model_facts import ModelFacts
from acp_server.app.providers import ProviderEntry
from acp_server.app.session_access import SessionAccess, SessionObserver
from acp_server.base.ports import Clock, HeldJournal, Ids
from acp_server.base.registered import Registered
from acp_server.base.values import value
from acp_server.messages.request import CallConfig
from acp_server.persistence.port import SessionPersistence
from acp_server.session.session import Session
from acp_server.tools.mcp.servers import McpServer

if TYPE_CHECKING:
    from acp_server.llm.runtime import LlmRuntime
    from acp_server.session.projections import Projection
    from acp_server.tools.tool import AnyTool

T = TypeVar("T")
Undo: TypeAlias = Callable[[], None]


@value
class StoreEntry:
    """A store of sessions: `make` may import and is called in a thread; `notice` is told in each session."""

    make: Callable[[], SessionPersistence]
    notice: str | None = None


@value
class ConsentChoice:
    """How long the yes holds that a person lets be remembered: for the session, the project, or never."""

    remember: Literal["session", "project", "never"] = "session"


@value
class SandboxChoice:
    """What commands may reach, unless a session says otherwise; `hosts` are those of the allow-list."""

    network: Literal["off", "allow-list", "on"] = "off"
    hosts: tuple[str, ...] = ()


@value
class LogChoice:
    """Where the diagnostic log goes, and how much of it; None leaves it to the command line."""

    file: str | None
    level: Level | None


@value
class TitleChoice:
    """That a model is asked for titles: its provider and name, None for the conversation's own."""

    route: tuple[str, str] | None


@value
class Toolkit:
    """Tools that cost nothing at the start: `load` gives them, in a thread, when the first turn is near.

    `opened` is called when they are in the table of tools, right before the first request to a model.
    """

    load: Callable[[], Sequence[AnyTool]]
    opened: Callable[[], None]


@value
class KeeperEntry:
    """What keeps conversations within their models' windows, one keeper a session.

    `load` imports, and is called in a thread when the first turn is near; its result makes a session's keeper.
    """

    load: Callable[[], Callable[[KeeperKit], Keeper]]
    auto: bool = True
    """Whether it makes room by itself in sessions that say nothing about it."""


@value
class KeeperKit:
    """What a session's keeper is made of; `tell` tells the person a sentence, `keep_text` is that of Beside."""

    session: Session
    journal: HeldJournal
    runtime: Callable[[], Awaitable[LlmRuntime]]
    clock: Clock
    ids: Ids
    random: Callable[[], float]
    report: Callable[[BaseException], None]
    tell: Callable[[str], None]
    keep_text: Callable[[str], Awaitable[str | None]]


class Registries:
    """Every table of one process. Where only one counts (a title, a store, limits), the last one added does.

    `services` are the slash commands of services that are no components; `tell` tells a session's person.
    Without a `family` there are no sub-agents.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        sessions: SessionAccess,
        services: Sequence[Command] = (),
        tell: Callable[[str, str], None] = lambda _session_id, _sentence: None,
        family: Family | None = None,
    ) -> None:
        self.tell = tell
        self.service_commands = services
        self.family = family
        self.environment = environment
        self.machine = Machine(environment)
        self.session_access = sessions
        self.adapters: Registered[ProviderEntry] = Registered("provider", lambda entry: entry.name)
        self.tools: Registered[AnyTool] = Registered("tool", lambda tool: tool.name)
        self.toolkits: Registered[Toolkit] = Registered("toolkit")
        self.sections: Registered[Section] = Registered("prompt section", lambda section: section.name)
        self.variables: Registered[Variable] = Registered("variable", lambda variable: variable.name)
        for variable in (*VARIABLES, Variable("platform", lambda _cwd: sys.platform)):
            self.variables.add(variable)
        self.contexts: Registered[Context] = Registered("context", lambda context: context.name)
        self.commands: Registered[Command] = Registered("command", lambda command: command.name)
        self.command_sources: Registered[CommandSource] = Registered("source of commands")
        self.presets: Registered[PresetSource] = Registered("source of presets")
        self.readable: Registered[Callable[[], tuple[str, ...]]] = Registered("readable directories")
        """Directories, by their real paths, that tools may read without a question."""
        self.projections: Registered[Projection] = Registered("projection", lambda projection: projection.key)
        self.titles: Registered[Title] = Registered("title")
        self.title_choices: Registered[TitleChoice] = Registered("choice of titles")
        """Empty while no model is asked for titles."""
        self.observers: Registered[SessionObserver] = Registered("session observer")
        self.keepers: Registered[KeeperEntry] = Registered("keeper")
        self.stores: Registered[StoreEntry] = Registered("store")
        self.limits: Registered[Limits] = Registered("limits")
        self.facts: Registered[ModelFacts] = Registered("model facts")
        self.default_models: Registered[CallConfig] = Registered("default model")
        self.mcp_servers: Registered[McpServer] = Registered("MCP server", lambda server: server.name)
        self.logs: Registered[LogChoice] = Registered("log")
        self.sandboxes: Registered[SandboxChoice] = Registered("sandbox")
        self.consents: Registered[ConsentChoice] = Registered("consent")
        self.fronts: Registered[str] = Registered("front end", str)
        self.hooks = Hooks()
        self.show_commands: Callable[[], None] = lambda: None
        """Shows the commands anew; set by who shows them."""
        self.show_options: Callable[[], None] = lambda: None
        """Likewise for the config options."""
        self._loaded: dict[Toolkit, Sequence[AnyTool]] = {}
        self._opened: dict[Toolkit, list[Undo]] = {}
        self.toolkits.subscribe(self._close_toolkits)

    def commands_changed(self) -> None:
        """Have the commands shown anew: what a source gives has changed."""
        self.show_commands()

    def options_changed(self) -> None:
        """Have the config options shown anew: what can be chosen may be something else."""
        self.show_options()

    def load_toolkits(self) -> None:
        """Load the toolkits' tools, unless that was done; for the warm-up thread."""
        for kit in self.toolkits.items:
            if kit not in self._loaded:
                self._loaded[kit] = kit.load()

    def open_toolkits(self) -> None:
        """Put the loaded tools into the table of tools, each toolkit once; on the event loop."""
        for kit in self.toolkits.items:
            if kit in self._loaded and kit not in self._opened:
                self._opened[kit] = [self.tools.add(tool) for tool in self._loaded[kit]]
                kit.opened()

    def _close_toolkits(self) -> None:
        """Take away the tools of toolkits that are gone."""
        for kit in [kit for kit in self._opened if kit not in self.toolkits.items]:
            for undo in self._opened.pop(kit):
                undo()
            self._loaded.pop(kit, None)


class Adding(Generic[T]):
    """One table as a component has it: what it adds is taken away when the component ends."""

    __slots__ = ("_table", "_undo")

    def __init__(self, table: Registered[T], undo: list[Undo]) -> None:
        self._table = table
        self._undo = undo

    def add(self, item: T) -> None:
        """Add the item; raise ServerError ALREADY_REGISTERED when its name is taken."""
        self._undo.append(self._table.add(item))

    @property
    def items(self) -> tuple[T, ...]:
        """Return everything in the table, that of other components too."""
        return self._table.items


class HookParts:
    """The points of a turn, each a table (agent/hooks.py says what each may do)."""

    def __init__(self, hooks: Hooks, undo: list[Undo]) -> None:
        self.pre_step: Adding[PreStep] = Adding(hooks.pre_step, undo)
        self.request: Adding[Request] = Adding(hooks.request, undo)
        self.stream: Adding[Stream] = Adding(hooks.stream, undo)
        self.pre_tool: Adding[PreTool] = Adding(hooks.pre_tool, undo)
        self.execute: Adding[Execute] = Adding(hooks.execute, undo)
        self.post_tool: Adding[PostTool] = Adding(hooks.post_tool, undo)
        self.turn_stopping: Adding[TurnStopping] = Adding(hooks.turn_stopping, undo)


class Parts:
    """What a component's factory is given: the tables, and the environment of the process.

    Attributes:
        row: the id of the component's row.
        machine: what this machine gives to commands.
        sessions: the live sessions and the stored ones.
        service_commands: slash commands of services that are no components.
        tell: tells the person of a session a sentence.
        family: which sessions are sub-agents of which; None where there can be none.
    """

    def __init__(self, row: str, tables: Registries, undo: list[Undo]) -> None:
        self.row = row
        self.environment = tables.environment
        self.machine = tables.machine
        self.sessions = tables.session_access
        self.service_commands = tables.service_commands
        self.tell = tables.tell
        self.commands_changed = tables.commands_changed
        self.options_changed = tables.options_changed
        self.family = tables.family
        self.adapters = Adding(tables.adapters, undo)
        self.tools = Adding(tables.tools, undo)
        self.toolkits = Adding(tables.toolkits, undo)
        self.sections = Adding(tables.sections, undo)
        self.variables = Adding(tables.variables, undo)
        self.contexts = Adding(tables.contexts, undo)
        self.commands = Adding(tables.commands, undo)
        self.command_sources = Adding(tables.command_sources, undo)
        self.presets = Adding(tables.presets, undo)
        self.readable = Adding(tables.readable, undo)
        self.projections = Adding(tables.projections, undo)
        self.titles = Adding(tables.titles, undo)
        self.title_choices = Adding(tables.title_choices, undo)
        self.observers = Adding(tables.observers, undo)
        self.keepers = Adding(tables.keepers, undo)
        self.stores = Adding(tables.stores, undo)
        self.limits = Adding(tables.limits, undo)
        self.facts = Adding(tables.facts, undo)
        self.default_models = Adding(tables.default_models, undo)
        self.mcp_servers = Adding(tables.mcp_servers, undo)
        self.logs = Adding(tables.logs, undo)
        self.sandboxes = Adding(tables.sandboxes, undo)
        self.consents = Adding(tables.consents, undo)
        self.fronts = Adding(tables.fronts, undo)
        self.hooks = HookParts(tables.hooks, undo)
