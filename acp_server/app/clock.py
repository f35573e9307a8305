"""The real clock and the real source of ids."""

from __future__ import annotations

import asyncio
import time
import uuid


class SystemClock:
    """The wall clock, and sleeping on the event loop."""

    def now_ms(self) -> int:
        """See base.ports.Clock."""
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        """See base.ports.Clock."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Bare random UUIDs."""

    def new(self) -> str:
        """See base.ports.Ids."""
        return str(uuid.uuid4())
