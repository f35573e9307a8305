"""What an editor's connection does for the sessions that it has open (port `Front`)."""

from __future__ import annotations

import os.path
from functools import partial
from typing import TYPE_CHECKING

from acp_server.acp.open_sessions import OpenSessions
from acp_server.jsonrpc.peer import Peer

if TYPE_CHECKING:
    from acp_server.acp.client_side import AcpClient
    from acp_server.acp.permissions import Permissions


class Editor:
    """The front end of one client. The services below it are built first, so it is `joined` to its own ones later."""

    def __init__(self) -> None:
        self._sessions: OpenSessions | None = None
        self._peer: Peer | None = None

    def join(self, sessions: OpenSessions, peer: Peer) -> None:
        """Take what shows sessions and what carries requests."""
        self._sessions, self._peer = sessions, peer

    def tell(self, session_id: str, sentence: str) -> None:
        """See Front."""
        controller = None if self._sessions is None else self._sessions.get(session_id)
        if controller is not None:
            controller.tell(sentence)

    def tell_all(self, sentence: str) -> None:
        """See Front."""
        if self._sessions is not None:
            self._sessions.tell_all(sentence)

    def progress(self, session_id: str, call_id: str, text: str) -> None:
        """See Front."""
        controller = None if self._sessions is None else self._sessions.get(session_id)
        if controller is not None:
            controller.progress(call_id, text)

    def asker(self, session_id: str) -> Permissions:
        """See Front."""
        from acp_server.acp.permissions import Permissions  # noqa: PLC0415 - tools are not for the start path

        if self._peer is None:
            raise RuntimeError("a session asks before its connection is there")

        return Permissions(self._peer, session_id, partial(self._wire_id, session_id))

    def roots(self, session_id: str) -> tuple[str, ...]:
        """See Front."""
        controller = None if self._sessions is None else self._sessions.get(session_id)
        return () if controller is None else controller.roots

    def editor_words(self, session_id: str) -> str | None:
        """See Front."""
        controller = None if self._sessions is None else self._sessions.get(session_id)
        if controller is None or controller.editor is None:
            return None
        return controller.editor.words(controller.agent.session.header.cwd)

    def client(self, session_id: str) -> AcpClient:
        """See Front."""
        from acp_server.acp.client_side import AcpClient  # noqa: PLC0415 - tools are not for the start path

        sessions, peer = self._sessions, self._peer
        if sessions is None or peer is None:
            raise RuntimeError("a session's tools are wanted before its connection is there")
        controller = sessions.get(session_id)
        cwd = None if controller is None else controller.agent.session.header.cwd
        spelled = partial(_spelled, cwd or "/", os.path.realpath(cwd or "/"))

        def show(call_id: str, terminal_id: str) -> None:
            shown = sessions.get(session_id)
            if shown is not None:
                shown.show_terminal(call_id, terminal_id)

        wire_id = partial(self._wire_id, session_id)
        return AcpClient(peer, session_id, lambda: sessions.offered, spelled=spelled, show=show, wire_id=wire_id)

    def _wire_id(self, session_id: str, call_id: str) -> str:
        controller = None if self._sessions is None else self._sessions.get(session_id)
        return call_id if controller is None else controller.wire_id(call_id)


def _spelled(cwd: str, real: str, path: str) -> str:
    """Return a canonical path below the session's directory as the client named that directory."""
    inside = path == real or path.startswith(f"{real.rstrip('/')}/")
    return cwd.rstrip("/") + path[len(real.rstrip("/")) :] if inside else path
