"""A conversation of many turns never overflows its window, whatever the window is. The long suite runs 500 turns."""

from __future__ import annotations

import pytest

from tests.support.marathon import WINDOWS, marathon
from tests.support.windows import rewritten


@pytest.mark.parametrize("window", WINDOWS)
async def test_a_conversation_stays_within_its_window(window: int) -> None:
    bench = await marathon(window, turns=40)
    same, rewrites = rewritten(bench)
    assert rewrites <= len(bench.events("compaction/prune")) + len(bench.events("compaction/start"))
    assert same > rewrites
    if window <= 128_000:
        assert bench.events("compaction/start") != []
