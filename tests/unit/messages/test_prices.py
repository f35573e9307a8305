from __future__ import annotations

import pytest

from acp_server.messages.chunks import TokenUsage
from acp_server.messages.prices import Prices, prices_from_json, prices_to_json

PLAIN = Prices(2, 10)
FULL = Prices(2, 10, 0.5, 2.5, 1_000, Prices(4, 15, 1))


@pytest.mark.parametrize(
    ("prices", "usage", "dollars"),
    [
        (PLAIN, TokenUsage(0, 0), 0.0),
        (PLAIN, TokenUsage(1_000_000, 100_000), 3.0),
        (PLAIN, TokenUsage(0, 0, 500_000, 500_000), 2.0),
        (FULL, TokenUsage(400, 100, 400, 200), (800 + 1_000 + 200 + 500) / 1_000_000),
        (FULL, TokenUsage(401, 100, 400, 200, 90), (1_604 + 1_500 + 400 + 800) / 1_000_000),
    ],
)
def test_an_attempt_costs_what_its_tokens_cost(prices: Prices, usage: TokenUsage, dollars: float) -> None:
    assert prices.cost(usage) == pytest.approx(dollars)


@pytest.mark.parametrize("prices", [PLAIN, FULL, Prices(0, 0)])
def test_prices_come_back_from_their_json(prices: Prices) -> None:
    assert prices_from_json(prices_to_json(prices)) == prices


def test_the_json_of_prices() -> None:
    assert prices_to_json(FULL) == {
        "input": 2,
        "output": 10,
        "cacheRead": 0.5,
        "cacheWrite": 2.5,
        "longFrom": 1_000,
        "long": {"input": 4, "output": 15, "cacheRead": 1},
    }


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        {},
        {"input": 1},
        {"input": 1, "output": -1},
        {"input": 1, "output": True},
        {"input": 1, "output": float("nan")},
        {"input": 1, "output": 2, "cacheRead": "cheap"},
    ],
)
def test_what_is_no_price_is_none(data: object) -> None:
    assert prices_from_json(data) is None
