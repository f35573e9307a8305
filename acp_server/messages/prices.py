"""What a model's tokens cost, and what an attempt has cost (docs/llm.md, clauses P-1 to P-4). Pure.

Owns the arithmetic and the form in which prices stand in a log, so that what was spent can be told from the log alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.chunks import TokenUsage

CURRENCY: Final = "USD"
MILLION: Final = 1_000_000
_FIELDS: Final = (
    ("input", "input"),
    ("output", "output"),
    ("cacheRead", "cache_read"),
    ("cacheWrite", "cache_write"),
)


@value
class Prices:
    """US dollars for a million tokens. Cached tokens without a price of their own cost what others cost.

    A request that reads more than `long_from` tokens is charged as `long` says, whole.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_from: int | None = None
    long: Prices | None = None

    def cost(self, usage: TokenUsage) -> float:
        """Return what the attempt cost, in dollars."""
        read, written = usage.cache_read or 0, usage.cache_write or 0
        if self.long is not None and self.long_from is not None and usage.input + read + written > self.long_from:
            return self.long.cost(usage)
        spent = usage.input * self.input + usage.output * self.output
        spent += read * (self.input if self.cache_read is None else self.cache_read)
        spent += written * (self.input if self.cache_write is None else self.cache_write)
        return spent / MILLION


def prices_to_json(prices: Prices) -> dict[str, JsonValue]:
    """Return `{input, output, cacheRead?, cacheWrite?, longFrom?, long?}`."""
    data: dict[str, JsonValue] = {key: number for key, name in _FIELDS if (number := getattr(prices, name)) is not None}
    if prices.long is not None and prices.long_from is not None:
        data |= {"longFrom": prices.long_from, "long": prices_to_json(prices.long)}
    return data


def prices_from_json(data: object) -> Prices | None:
    """Return the prices, or None for anything that is not their form: a log may hold what a later version wrote."""
    if not isinstance(data, Mapping):
        return None
    given = {name: data[key] for key, name in _FIELDS if key in data}
    if not {"input", "output"} <= given.keys() or not all(map(_is_price, given.values())):
        return None
    start, long = data.get("longFrom"), prices_from_json(data.get("long"))
    if long is None or type(start) is not int:
        return Prices(**given)
    return Prices(**given, long_from=start, long=long)


def _is_price(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and isfinite(number) and number >= 0
