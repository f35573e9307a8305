"""Five hundred turns of work with tools in a window of each size: no request over it, no call torn, no loop."""

from __future__ import annotations

import pytest

from tests.support.marathon import WINDOWS, marathon


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", [7, 8])
async def test_five_hundred_turns_stay_within_the_window(window: int, seed: int) -> None:
    bench = await marathon(window, turns=500, seed=seed)
    assert bench.events("compaction/start") != []
