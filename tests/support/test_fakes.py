"""The fake clock and the fake ids do what their ports promise."""

from __future__ import annotations

import asyncio

from acp_server.base.ports import Clock, Ids
from tests.support.clock import FakeClock, settle
from tests.support.ids import FakeIds


async def test_sleepers_wake_when_their_time_has_come() -> None:
    fake = FakeClock(1000)
    clock: Clock = fake
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    tasks = [asyncio.create_task(sleeper("late", 2)), asyncio.create_task(sleeper("early", 1))]
    await settle()
    assert (woken, fake.sleeping, fake.slept) == ([], 2, [2, 1])
    await fake.advance(1)
    assert (woken, clock.now_ms()) == (["early"], 2000)
    await fake.advance(5)
    assert woken == ["early", "late"]
    await asyncio.gather(*tasks)


def test_ids_can_be_foretold() -> None:
    ids: Ids = FakeIds("m")
    assert [ids.new(), ids.new()] == ["m-1", "m-2"]
