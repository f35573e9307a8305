"""Five hundred turns of real work over pipes and HTTP in a window of each size: nothing over it, nothing lost."""

from __future__ import annotations

import pytest

from tests.e2e.simulation import simulate
from tests.e2e.stage import Stage
from tests.support.marathon import WINDOWS


@pytest.mark.parametrize("window", WINDOWS)
async def test_five_hundred_turns_of_work(stage: Stage, window: int) -> None:
    events = await simulate(stage, window, turns=500)
    assert any(event.type == "compaction/summary" for event in events)
