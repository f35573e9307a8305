"""Work with tools in small windows, turn after turn, over pipes and HTTP; the long suite does 500 turns in each."""

from __future__ import annotations

import pytest

from tests.e2e.simulation import simulate
from tests.e2e.stage import Stage


@pytest.mark.parametrize(("window", "turns"), [(8_000, 25), (32_000, 25)])
async def test_work_goes_on_in_any_window(stage: Stage, window: int, turns: int) -> None:
    events = await simulate(stage, window, turns)
    assert any(event.type == "compaction/summary" for event in events)
