"""What the tools of one session keep between calls: open roots, files that were seen, the box of commands.

Made at a session's first call and given back when it closes. The box is found once for the whole process.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from functools import partial

from acp_server.agent.hooks import Enter, StepPlace
from acp_server.app.machine import Machine
from acp_server.base.values import replace, value
from acp_server.messages.blocks import Message, PluginSource, TextBlock
from acp_server.sandbox.confine import Backend
from acp_server.sandbox.process import BackgroundJobs, JobFacts
from acp_server.sandbox.replacing import Version
from acp_server.sandbox.roots import Roots
from acp_server.session.log import EventLog
from acp_server.tools.bash import BashTool
from acp_server.tools.editor_files import EditorFiles
from acp_server.tools.file_tools import file_tools
from acp_server.tools.files import FileAccess, SeenFiles
from acp_server.tools.job_notices import JOBS, end_of_job
from acp_server.tools.jobs import SessionJobs, how, job_tools
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.remembering import SEEN, facts_in, keep_before, seen_before, seen_fact
from acp_server.tools.ripgrep import find_ripgrep
from acp_server.tools.terminal_bash import TerminalBash
from acp_server.tools.todo import TodoTool
from acp_server.tools.tool import AnyTool, ToolContext
from acp_server.tools.watching import CHANGES, Watch, words_of


@value
class _State:
    places: tuple[str, ...]
    roots: Roots
    seen: dict[str, Version]
    jobs: SessionJobs
    ended: list[str]
    """What the model is still to be told of jobs that ended."""


class ToolStates:
    """States by session id."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._states: dict[str, _State] = {}
        self._seen: dict[str, dict[str, Version]] = {}
        self._watches: dict[str, Watch] = {}
        self._ending: set[asyncio.Future[None]] = set()

    @property
    def ripgrep(self) -> str | None:
        """Return the path of ripgrep, or None on a machine without it."""
        return find_ripgrep(self._machine.environment.get("PATH", ""))

    def access(self, context: ToolContext) -> FileAccess:
        """Return the files of one call, under its policy."""
        state = self._state(context)
        local = LocalFiles(state.roots, context.policy, self._machine.host(), self._machine.leftovers())
        files = EditorFiles(local, context.client, context.cancel) if context.client.reads else local

        def saw(path: str, version: Version) -> None:
            context.remember(SEEN, seen_fact(path, version))

        return FileAccess(files, SeenFiles(state.seen, saw), partial(keep_before, context))

    def backend(self) -> Backend:
        """Return the box that commands get; blocks for a moment the first time."""
        return self._machine.backend()

    def jobs(self, context: ToolContext) -> SessionJobs:
        """Return the background jobs of a call's session."""
        return self._state(context).jobs

    async def tell_ends(self, place: StepPlace, entry: Enter) -> Enter:
        """Add to a step what the model was not told yet of jobs that ended; see hooks.PreStep."""
        state = self._states.get(place.session_id)
        if state is None or not state.ended:
            return entry
        text = "\n".join(state.ended)
        state.ended.clear()
        told = Message(uuid.uuid4().hex, "user", (TextBlock(text),), PluginSource(JOBS, {}))
        return Enter((*entry.messages, told))

    async def tell_changes(self, place: StepPlace, entry: Enter, log: EventLog | None) -> Enter:
        """Add to a step which files others have changed since the model saw them; see hooks.PreStep."""
        changed = await self._look(place.session_id, log)
        if not changed:
            return entry
        text = await asyncio.to_thread(words_of, changed)
        told = Message(uuid.uuid4().hex, "user", (TextBlock(text),), PluginSource(CHANGES, {}))
        return Enter((*entry.messages, told))

    async def settle_changes(self, session_id: str) -> None:
        """Take what a call may have changed as changed by the model."""
        await self._look(session_id, None)

    async def _look(self, session_id: str, log: EventLog | None) -> list[str]:
        watch = self._watches.get(session_id)
        if watch is None:
            if log is None:
                return []
            seen = self._seen[session_id] = dict(seen_before(facts_in(log, SEEN)))
            watch = self._watches[session_id] = Watch(restored=True)
        else:
            seen = self._seen[session_id]
        return await asyncio.to_thread(watch.changed, dict(seen)) if seen else []

    def closed(self, session_id: str) -> None:
        """Give back what a session held; its jobs end behind the back of the caller."""
        self._watches.pop(session_id, None)
        self._seen.pop(session_id, None)
        state = self._states.pop(session_id, None)
        if state is None:
            return
        state.roots.close()
        if state.jobs.jobs.list():
            ending = asyncio.ensure_future(state.jobs.jobs.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Give back everything; return when no job is left."""
        for session_id in tuple(self._states):
            self.closed(session_id)
        if self._ending:
            await asyncio.wait(self._ending)

    def _state(self, context: ToolContext) -> _State:
        state, places = self._states.get(context.session_id), (context.policy.workspace, *context.policy.roots)
        if state is not None and state.places != places:  # the session was opened again with other directories
            state.roots.close()
            state = self._states[context.session_id] = replace(state, places=places, roots=Roots(places))
        if state is None:
            ended = list[str]()

            def tell(job: JobFacts) -> None:
                ended.append(end_of_job(job.id, job.title, how(job)))

            jobs = SessionJobs(BackgroundJobs(on_end=tell))
            seen = self._seen.get(context.session_id)
            if seen is None:
                seen = self._seen[context.session_id] = dict(seen_before(context.remembered(SEEN)))
                self._watches[context.session_id] = Watch(restored=True)
            state = _State(places, Roots(places), seen, jobs, ended)
            self._states[context.session_id] = state
        return state


def standard_tools(states: ToolStates, *, in_editor: bool = False) -> Sequence[AnyTool]:
    """Return the standard tools; their descriptions in `standard_tools.json` are made from these.

    `in_editor` is whether commands run in the editor's terminals where it has some.
    """
    confined = BashTool(states.backend, states.jobs)
    shell = (TerminalBash(confined) if in_editor else confined, *job_tools(states.jobs))
    return (*file_tools(states.access, states.ripgrep), *shell, TodoTool())
