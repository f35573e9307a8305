"""A clock that only tests move."""

from __future__ import annotations

import asyncio


class FakeClock:
    """Fits acp_server.base.ports.Clock. Time stands still until `advance`; sleepers wake in the order of their time."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self.slept: list[float] = []
        """The seconds of each sleep that was begun, in order."""

    def now_ms(self) -> int:
        return self._now_ms

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds <= 0:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        self._sleepers.append((self._now_ms + round(seconds * 1000), self._count, waiter))
        await waiter

    def set_ms(self, now_ms: int) -> None:
        """Set the wall clock, backwards too; nobody wakes by it."""
        self._now_ms = now_ms

    async def advance(self, seconds: float) -> None:
        """Let time pass and let those run who wake by it."""
        self._now_ms += round(seconds * 1000)
        due = sorted(s for s in self._sleepers if s[0] <= self._now_ms)
        self._sleepers = [s for s in self._sleepers if s[0] > self._now_ms]
        for _, _, waiter in due:
            if not waiter.done():
                waiter.set_result(None)
        await settle()

    @property
    def sleeping(self) -> int:
        """Return how many wait for time to pass."""
        return sum(not waiter.done() for _, _, waiter in self._sleepers)


async def settle(rounds: int = 20) -> None:
    """Let every task that is ready run on, so many rounds of the loop."""
    for _ in range(rounds):
        await asyncio.sleep(0)
