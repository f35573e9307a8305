from __future__ import annotations

from collections.abc import Mapping

import pytest

from acp_server.app.model_facts import ModelFacts
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.prices import Prices

KNOWN = ModelInfo("p", "m", "M", prices=Prices(1, 2, 0.5, None, 1_000, Prices(2, 4)))


@pytest.mark.parametrize(
    ("known", "stated", "prices"),
    [
        (KNOWN, {"output": 3.0}, Prices(1, 3, 0.5)),
        (KNOWN, {"cache_write": 4.0}, Prices(1, 2, 0.5, 4)),
        (None, {"input": 1.0, "output": 2.0}, Prices(1, 2)),
        (None, {"input": 1.0}, None),
    ],
)
def test_stated_prices_stand_in_front_of_known_ones(
    known: ModelInfo | None, stated: Mapping[str, float], prices: Prices | None
) -> None:
    over = ModelFacts({"p/m": {"prices": stated}}).over("p", "m", known)
    assert over is not None
    assert over.prices == prices


def test_other_facts_leave_prices_alone() -> None:
    over = ModelFacts({"p/m": {"context_window": 5}}).over("p", "m", KNOWN)
    assert over is not None
    assert (over.context_window, over.prices) == (5, KNOWN.prices)
