"""What the tools of one session keep between calls: open roots, files that were seen, the box of commands.

Made at a session's first call and given back when it closes. The box is found once for the whole process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from acp_server.app.places import account_home, find_places
from acp_server.base.values import value
from acp_server.sandbox.confine import Backend
from acp_server.sandbox.facts import Host
from acp_server.sandbox.host import read_host
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.probe import leftovers_of, probe
from acp_server.sandbox.replacing import Version
from acp_server.sandbox.roots import Roots
from acp_server.tools.bash import BashTool
from acp_server.tools.editor_files import EditorFiles
from acp_server.tools.file_tools import file_tools
from acp_server.tools.files import FileAccess, SeenFiles
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.remembering import SEEN, keep_before, seen_before, seen_fact
from acp_server.tools.ripgrep import find_ripgrep
from acp_server.tools.todo import TodoTool
from acp_server.tools.tool import AnyTool, ToolContext


@value
class _State:
    roots: Roots
    seen: dict[str, Version]


class ToolStates:
    """States by session id. `host` and `backend` block the first time and may be asked in any thread."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._states: dict[str, _State] = {}
        self._lock = threading.Lock()
        self._host: Host | None = None
        self._leftovers: Leftovers | None = None
        self._backend: Backend | None = None

    @property
    def ripgrep(self) -> str | None:
        """Return the path of ripgrep, or None on a machine without it."""
        return find_ripgrep(self._environment.get("PATH", ""))

    def host(self) -> Host:
        """Return what the sandbox has to know of this machine."""
        with self._lock:
            if self._host is None:
                places = find_places(self._environment, account_home)
                own = (places.state, places.config, places.cache)
                self._host = read_host(self._environment, places.state, own)
            return self._host

    def leftovers(self) -> Leftovers:
        """Return the journals by which the next process takes away what a crash of this one leaves."""
        host = self.host()
        with self._lock:
            if self._leftovers is None:
                self._leftovers = leftovers_of(host)
            return self._leftovers

    def backend(self) -> Backend:
        """Return the box that commands get, found by trying."""
        host, leftovers = self.host(), self.leftovers()
        with self._lock:
            if self._backend is None:
                self._backend = probe(host, leftovers=leftovers)
            return self._backend

    def access(self, context: ToolContext) -> FileAccess:
        """Return the files of one call, under its policy."""
        state = self._states.get(context.session_id)
        if state is None:
            policy = context.policy
            seen = dict(seen_before(context.remembered(SEEN)))
            state = _State(Roots((policy.workspace, *policy.roots)), seen)
            self._states[context.session_id] = state
        local = LocalFiles(state.roots, context.policy, self.host(), self.leftovers())
        files = EditorFiles(local, context.client, context.cancel) if context.client.reads else local

        def saw(path: str, version: Version) -> None:
            context.remember(SEEN, seen_fact(path, version))

        return FileAccess(files, SeenFiles(state.seen, saw), partial(keep_before, context))

    def closed(self, session_id: str) -> None:
        """Give back what a session held."""
        state = self._states.pop(session_id, None)
        if state is not None:
            state.roots.close()

    def close(self) -> None:
        """Give back everything."""
        for session_id in tuple(self._states):
            self.closed(session_id)


def standard_tools(states: ToolStates) -> Sequence[AnyTool]:
    """Return the standard tools; their descriptions in `standard_tools.json` are made from these."""
    return (*file_tools(states.access, states.ripgrep), BashTool(states.backend), TodoTool())
