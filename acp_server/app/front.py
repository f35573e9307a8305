"""The port to a front end: how the shared services reach whoever shows their sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from acp_server.agent.consent.approvals import Asker
    from acp_server.tools.client_side import ClientSide


class Front(Protocol):
    """What a front end does for the sessions that it shows. Sessions that it does not show are passed over."""

    def tell(self, session_id: str, sentence: str) -> None:
        """Tell the person something about a session."""

    def tell_all(self, sentence: str) -> None:
        """Tell the person something in every session."""

    def asker(self, session_id: str) -> Asker:
        """Return what carries questions of consent in a session."""
        ...

    def progress(self, session_id: str, call_id: str, text: str) -> None:
        """Show the latest output of a tool call that runs."""

    def roots(self, session_id: str) -> tuple[str, ...]:
        """Return the further directories of a session, canonical, as the client named them when it opened it."""
        ...

    def editor_words(self, session_id: str) -> str | None:
        """Return what a model is told of the files that the person has open, None for nothing."""
        ...

    def client(self, session_id: str) -> ClientSide:
        """Return what the client of a session offers to tools."""
        ...
