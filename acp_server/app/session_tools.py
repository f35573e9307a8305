"""The tools of one session, loaded when somebody asks for them: until then a session costs nothing for having tools.

Joins what the layers below keep apart: the toolbox, the consent for its calls, what a call may touch, and the question
to the person. `compose` registers the guard as a hook and the question as a service of each agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from acp_server.agent.hooks import Decision
from acp_server.agent.presets import Preset, preset_of
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.app.front import Front
from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Attachments, Ids, Journal
from acp_server.base.registered import Registered
from acp_server.messages.blocks import ToolCallBlock
from acp_server.messages.request import CallConfig, ToolSchema
from acp_server.persistence.port import SessionPersistence
from acp_server.session.session import Session

if TYPE_CHECKING:
    from acp_server.agent.consent.approvals import Approvals, Remembered
    from acp_server.agent.toolbox import Toolbox
    from acp_server.app.registries import SandboxChoice
    from acp_server.tools.tool import AnyTool


class ToolSessions:
    """The tools of all open sessions, by session id; its `guard` and `ask` find the session of a call."""

    def __init__(
        self,
        tools: Registered[AnyTool],
        environment: Mapping[str, str],
        ids: Ids,
        *,
        store: Callable[[], SessionPersistence | None],
        reads_images: Callable[[CallConfig], bool],
        front: Front,
        remember: Callable[[], Remembered],
        sandbox: Callable[[], SandboxChoice],
        own: Callable[[str], Sequence[AnyTool]] = lambda _session_id: (),
        readable: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        self._tools = tools
        self._environment = environment
        self._ids = ids
        self._store = store
        self._reads_images = reads_images
        self._front = front
        self._remember = remember
        self._sandbox = sandbox
        self._own = own
        """Gives the tools that one session alone has."""
        self._readable = readable
        """Gives the directories that may be read without a question."""
        self._open: dict[str, SessionTools] = {}

    def open(self, session: Session, journal: Journal, attachments: Attachments) -> SessionTools:
        """Return the tools of a session that opens."""
        ident = str(session.id)
        tools = SessionTable(self._tools, partial(self._own, ident))

        def make() -> tuple[Toolbox, Approvals]:
            from acp_server.app.beside import SessionBeside  # noqa: PLC0415 - tools are not for the start path
            from acp_server.app.tool_scene import make_tools  # noqa: PLC0415 - likewise

            return make_tools(
                session,
                tools,
                self._front.asker(ident),
                environment=self._environment,
                beside=SessionBeside(session, self._store, journal),
                journal=journal,
                attachments=attachments,
                reads_images=self._reads_images,
                ids=self._ids,
                progress=partial(self._front.progress, ident),
                client=self._front.client(ident),
                remember=self._remember,
                sandbox=self._sandbox,
                roots=partial(self._front.roots, ident),
                readable=self._readable,
            )

        opened = self._open[ident] = SessionTools(tools, lambda: preset_of(session.events), make)
        return opened

    def closed(self, session_id: str) -> None:
        """Let a session's tools go."""
        self._open.pop(session_id, None)

    async def guard(self, place: CallPlace, before: Decision) -> Decision:
        """See hooks.PreTool."""
        return await self._open[place.session_id].guard(place, before)

    async def ask(self, place: CallPlace, reason: str, cancel: CancelToken) -> Decision:
        """See hooks.Asking."""
        return await self._open[place.session_id].ask(place, reason, cancel)


class SessionTable:
    """The tools that all sessions have, and those of one session."""

    def __init__(self, shared: Registered[AnyTool], own: Callable[[], Sequence[AnyTool]]) -> None:
        self._shared = shared
        self._own = own
        self._joined: tuple[Sequence[AnyTool], Sequence[AnyTool], tuple[AnyTool, ...]] = ((), (), ())

    @property
    def items(self) -> tuple[AnyTool, ...]:
        """Return all of them; another tuple after each change."""
        shared, own = self._shared.items, self._own()
        if not own:
            return shared
        if self._joined[0] is not shared or self._joined[1] is not own:
            self._joined = (shared, own, (*shared, *own))
        return self._joined[2]

    def find(self, name: str) -> AnyTool | None:
        """Return the tool of that name, or None."""
        return next((tool for tool in self.items if tool.name == name), None)


class SessionTools:
    """See ToolBox."""

    def __init__(
        self,
        tools: SessionTable,
        preset: Callable[[], Preset],
        make: Callable[[], tuple[Toolbox, Approvals]],
    ) -> None:
        self._tools = tools
        self._preset = preset
        self._make = make
        self._made: tuple[Toolbox, Approvals] | None = None
        self._described: tuple[Sequence[AnyTool], Preset | None, Sequence[ToolSchema]] = ((), None, ())

    def schemas(self) -> Sequence[ToolSchema]:
        """See ToolBox; asked before each request, and before the tools' code is there."""
        tools = self._tools.items
        if not tools:
            return ()
        preset = self._preset()
        if self._described[0] is not tools or self._described[1] != preset:
            from acp_server.tools.late_tool import schemas_of  # noqa: PLC0415 - tools are not for the start path

            offered = [tool for tool in tools if preset.offers(tool.name)]
            self._described = (tools, preset, schemas_of(offered))
        return self._described[2]

    def parallel(self, call: ToolCallBlock) -> bool:
        """See ToolBox."""
        return self._box().parallel(call)

    def view(self, call: ToolCallBlock) -> JsonValue:
        """See ToolBox."""
        return self._box().view(call)

    def asks(self, place: CallPlace) -> bool:
        """See ToolBox."""
        return self._approvals().asks(place)

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        """See ToolBox."""
        return await self._box().run(place, cancel)

    async def guard(self, place: CallPlace, before: Decision) -> Decision:
        """See hooks.PreTool."""
        return await self._approvals().guard(place, before)

    async def ask(self, place: CallPlace, reason: str, cancel: CancelToken) -> Decision:
        """See hooks.Asking."""
        return await self._approvals().ask(place, reason, cancel)

    def _box(self) -> Toolbox:
        return self._load()[0]

    def _approvals(self) -> Approvals:
        return self._load()[1]

    def _load(self) -> tuple[Toolbox, Approvals]:
        if self._made is None:
            self._made = self._make()
        return self._made
