"""The journal of sessions that are kept nowhere."""

from __future__ import annotations


class NoJournal:
    """Keeps nothing: every flush succeeds at once, since there is nothing that could be lost later."""

    behind = False

    async def room(self) -> None:
        """See base.ports.Journal."""

    async def flush(self) -> None:
        """See base.ports.Journal."""
