"""The component of the language servers: what they find after a change, and the tools that ask them."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from acp_server.agent.hooks import Enter, Run, StepPlace
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config
from acp_server.app.session_access import HotSession, SessionObserver
from acp_server.base.cancel import CancelToken
from acp_server.base.values import replace
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message, PluginSource, TextBlock

if TYPE_CHECKING:
    from acp_server.app.lsp_sessions import LspSessions
    from acp_server.lsp.changed import Changed
    from acp_server.lsp.late import LateProblems
    from acp_server.lsp.servers import LanguageServer
    from acp_server.lsp.session import SessionServers
    from acp_server.tools.tool import AnyTool

EDITING = ("edit", "multi_edit", "write")
"""Tools whose calls let the servers start while they run."""
WAIT_SECONDS = 5.0
PLUGIN = "acp-server/lsp"


def servers(parts: Parts, config: Config) -> Callable[[], Awaitable[None]] | None:
    """Register the tools of the servers that are installed or set, and what stands around calls that change files."""
    if config.get("enabled", True) is False:
        return None
    given = cast("dict[str, Any]", config)
    lsp = _Lsp(parts, given.get("servers", {}), given.get("wait_seconds", WAIT_SECONDS))
    parts.toolkits.add(Toolkit(lsp.describe, lambda: None))
    parts.observers.add(SessionObserver(opened=lsp.opened, closed=lsp.closed))
    parts.hooks.execute.add(lsp.around)
    parts.hooks.pre_step.add(lsp.pre_step)
    return lsp.close


class _Lsp:
    """What the process has of language servers: names until somebody needs one, then the servers of all sessions."""

    def __init__(self, parts: Parts, given: dict[str, dict[str, Any]], seconds: float) -> None:
        self._machine = parts.machine
        self._path = parts.environment.get("PATH", "")
        self._given = given
        self._seconds = seconds
        self._chosen: tuple[LanguageServer, ...] = ()
        self._endings: tuple[str, ...] = ()
        self._places: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sessions: LspSessions | None = None
        self._late: dict[str, LateProblems] = {}
        self._ending: set[asyncio.Future[None]] = set()

    def describe(self) -> Sequence[AnyTool]:
        """See Toolkit; where no server can be used there are no tools either."""
        from acp_server.lsp.descriptions import DESCRIPTIONS  # noqa: PLC0415 - tools are not for the start path
        from acp_server.lsp.programs import find_program  # noqa: PLC0415 - likewise
        from acp_server.lsp.servers import choose  # noqa: PLC0415 - likewise
        from acp_server.tools.late_tool import LateTools, described  # noqa: PLC0415 - likewise

        self._chosen = choose(self._given, lambda server: find_program(server, self._path))
        self._endings = tuple(ending for server in self._chosen for ending, _ in server.languages)
        if not self._chosen:
            return ()
        only_lint = all(server.does == "lint" for server in self._chosen)
        wanted = [one for one in described(DESCRIPTIONS) if one.name == "diagnostics" or not only_lint]
        return LateTools(self._tools).tools(wanted)

    def opened(self, session: HotSession) -> None:
        """See SessionObserver."""
        self._places[session.id] = session.cwd or "/"

    async def pre_step(self, place: StepPlace, entry: Enter) -> Enter:
        """See hooks.PreStep: tell what servers have said of earlier changes since."""
        late = self._late.get(place.session_id)
        text = "" if late is None else late.take()
        if not text:
            return entry
        return Enter((*entry.messages, Message(uuid.uuid4().hex, "user", (TextBlock(text),), PluginSource(PLUGIN, {}))))

    def closed(self, session_id: str) -> None:
        """See SessionObserver."""
        self._places.pop(session_id, None)
        late = self._late.pop(session_id, None)
        if late is not None:
            ending = asyncio.ensure_future(late.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        if self._sessions is not None:
            self._sessions.closed(session_id)

    async def close(self) -> None:
        """End everything."""
        for session_id in tuple(self._places):
            self.closed(session_id)
        if self._ending:
            await asyncio.wait(self._ending)
        if self._sessions is not None:
            await self._sessions.close()

    async def around(self, place: CallPlace, cancel: CancelToken, run: Run) -> ToolOutcome:
        """See hooks.Execute: run the call, then add what the servers find in the files that it changed."""
        if not self._chosen or place.session_id not in self._places:
            return await run()
        warming = None
        if place.call.name in EDITING and any(ending in place.call.arguments for ending in self._endings):
            warming = asyncio.ensure_future(self._warm(place))
        try:
            outcome = await run()
            return outcome if outcome.error is not None else await self._judged(place, cancel, outcome)
        finally:
            if warming is not None:
                warming.cancel()
                await asyncio.gather(warming, return_exceptions=True)

    async def _warm(self, place: CallPlace) -> None:
        """Load what is needed and start the servers of the file that is about to be changed."""
        arguments = json.loads(place.call.arguments)
        path = arguments.get("path") if isinstance(arguments, dict) else None
        if isinstance(path, str):
            (await self._servers_of(place.session_id)).warm(path)

    async def _judged(self, place: CallPlace, cancel: CancelToken, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome with what was found; whatever fails on the way, it is the outcome as it was."""
        from acp_server.lsp.changed import changed_files  # noqa: PLC0415 - tools are loaded when one has run

        changed = changed_files(outcome.meta)
        if not any(one.path.endswith(self._endings) for one in changed):
            return outcome
        try:
            found = await until(self._found(place.session_id, changed), cancel)
        except Exception:  # noqa: BLE001 - a change that was made is told, whatever becomes of its judgement
            return outcome
        return outcome if not found else replace(outcome, content=(*outcome.content, TextBlock(found)))

    async def _found(self, session_id: str, changed: Sequence[Changed]) -> str:
        servers = await self._servers_of(session_id)
        from acp_server.lsp.feedback import find_problems  # noqa: PLC0415 - loaded by the thread
        from acp_server.lsp.late import LateProblems  # noqa: PLC0415 - likewise

        if (late := self._late.get(session_id)) is not None:
            for one in changed:
                late.forget(one.path)
        judged = await find_problems(servers, changed, self._seconds)
        for slow in judged.slow if session_id in self._places else ():
            self._late.setdefault(session_id, LateProblems()).wait(servers, slow)
        return judged.text

    async def _servers_of(self, session_id: str) -> SessionServers:
        sessions = await asyncio.to_thread(self._loaded)
        return await sessions.of(session_id, self._places[session_id])

    def _loaded(self) -> LspSessions:
        """Runs in a thread: the import is what takes the time."""
        from acp_server.app.lsp_sessions import LspSessions  # noqa: PLC0415 - for the first use

        with self._lock:
            if self._sessions is None:
                self._sessions = LspSessions(self._machine, self._chosen)
            return self._sessions

    def _tools(self) -> Sequence[AnyTool]:
        from acp_server.lsp.tools import lsp_tools  # noqa: PLC0415 - for the first call

        return lsp_tools(self._loaded().open)
