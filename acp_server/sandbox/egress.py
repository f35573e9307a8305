"""The way out that one command has: a proxy for its allow-list, from before its start until everything has ended.

Owns when there is one (docs/sandbox.md, clauses N-3 and N-8) and what is told of hosts that were refused.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

from acp_server.sandbox.confine import Backend
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.proxy import AllowListProxy, Decision

REFUSED_MOST: Final = 16
"""Refused hosts that are told of one command."""
_WORDS: Final = {
    "host": "is not allowed",
    "port": "only ports 80 and 443 are reached",
    "private": "leads to an address that is not public",
    "unknown": "has no address",
}
ADVICE: Final = "[The hosts that a command needs can be named in its `hosts`; then the person is asked.]"


class Egress:
    """One command's proxy."""

    def __init__(self, policy: Policy) -> None:
        self._proxy = AllowListProxy(policy.network.hosts, self._decided, denied=policy.network.denied)
        self._level = policy.level
        self._loop = asyncio.get_running_loop()
        self._refused: dict[str, None] = {}
        self._unlisted = False
        self._closing: asyncio.Task[None] | None = None

    async def open(self, state: str) -> str:
        """Start it below the server's state; return its socket's path. Raise OSError."""
        await self._proxy.start(os.path.join(state, "sandbox", "egress"))
        return self._proxy.path

    def close(self) -> None:
        """End it soon; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._close)

    def refused(self) -> tuple[str, ...]:
        """Return a line for each host that was refused, and what would help."""
        return (*self._refused, *((ADVICE,) if self._unlisted else ()))

    def _close(self) -> None:
        self._closing = self._closing or asyncio.ensure_future(self._proxy.close())

    def _decided(self, decision: Decision) -> None:
        if decision.allowed or decision.why not in _WORDS or len(self._refused) >= REFUSED_MOST:
            return
        place = decision.host if decision.why != "port" else f"{decision.host}:{decision.port}"
        self._refused[f"[sandbox: network denied under {self._level}: {place} ({_WORDS[decision.why]})]"] = None
        self._unlisted = self._unlisted or decision.why == "host"


def wants_egress(policy: Policy, backend: Backend) -> bool:
    """Return whether a command of that policy has a proxy: only a full box can hold it to one."""
    listed = policy.network.mode == "allow-list" and bool(policy.network.hosts)
    return listed and policy.level == "workspace-write" and backend.enforcement == "full"
