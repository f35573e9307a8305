"""What keeps one session within its model's window, made when the first step asks for it.

Follows the table: when settings change the keeper of a session is made anew, from its log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from acp_server.agent.keeping import Keeper
from acp_server.app.registries import KeeperEntry, KeeperKit
from acp_server.base.registered import Registered


class SessionKeeper:
    """The keeper of one session, or None where no row brings one."""

    def __init__(self, entries: Registered[KeeperEntry], kit: KeeperKit) -> None:
        self._entries = entries
        self._kit = kit
        self._made: tuple[KeeperEntry, Keeper] | None = None

    async def loaded(self) -> None:
        """Return once `__call__` has nothing left to import; others of the loop go on meanwhile."""
        entry = self._entries.last
        if entry is not None and self._made is None:
            await asyncio.to_thread(entry.load)

    def __call__(self) -> Keeper | None:
        """Return the keeper of this moment."""
        entry = self._entries.last
        if entry is None:
            return None
        if self._made is None or self._made[0] is not entry:
            make: Callable[[KeeperKit], Keeper] = entry.load()
            self._made = (entry, make(self._kit))
        return self._made[1]
