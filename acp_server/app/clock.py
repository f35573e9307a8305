"""The real clock and the real source of ids."""

from __future__ import annotations

import asyncio
import os
import time


class SystemClock:
    """The wall clock, and sleeping on the event loop."""

    def now_ms(self) -> int:
        """See base.ports.Clock."""
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        """See base.ports.Clock."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Bare random UUIDs (RFC 9562, version 4); the module `uuid` costs five milliseconds of the start path."""

    def new(self) -> str:
        """See base.ports.Ids."""
        bits = bytearray(os.urandom(16))
        bits[6] = bits[6] & 0x0F | 0x40
        bits[8] = bits[8] & 0x3F | 0x80
        digits = bits.hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def uniform() -> float:
    """Return a random number from 0 to 1, which spreads delays of many clients."""
    return int.from_bytes(os.urandom(4)) / 0xFFFFFFFF
