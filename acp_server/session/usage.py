"""What a session's models have read, written and cost, attempt by attempt (docs/llm.md, clauses P-1 to P-4). Pure.

Owns one projection. An attempt counts when an event says what it used: an answer, a summary, an `llm/retry`, the
`turn/end` of a failed one, or a title. It belongs to the model, and is charged at the prices, of the `request/context`
before it, a title to those that it names itself, unless the provider said what it cost; so what was spent does not
change when prices do. What a sub-agent used counts in its parent too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.chunk_codec import usage_from_json
from acp_server.messages.chunks import TokenUsage
from acp_server.messages.codec import MessageFormatError
from acp_server.messages.prices import CURRENCY, prices_from_json
from acp_server.session.events import SessionEvent

CONTEXT: Final = "request/context"
TITLE: Final = "session/title"
USAGE_TYPES: Final = frozenset({"assistant/message", "compaction/summary", "llm/retry", "turn/end", TITLE})
SPENT: Final = "subagent/spent"
SPENDING_TYPES: Final = USAGE_TYPES | {CONTEXT, SPENT}
"""Every type that changes the projection."""
_COUNTS: Final = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_DIGITS: Final = 6
"""Of the dollars that are told: a millionth."""


class UsageProjection:
    """`{models: {"provider/model": {attempts, inputTokens, …, cost}}, cost: {amount, currency} | null}`.

    A model's cost is null when an attempt of it had no known price, and so is the whole then: no sum is told that
    leaves something out.
    """

    key: Final = "usage"
    version: Final = 3

    def initial(self) -> JsonValue:
        """Return the state of an empty log."""
        return {"models": {}, "at": None, "prices": None}

    def apply(self, state: JsonValue, event: SessionEvent) -> JsonValue:
        """Return the state with the event's share."""
        if not isinstance(state, Mapping):
            return state
        if event.type == CONTEXT:
            return {
                **state,
                "at": f"{event.data['provider']}/{event.data['model']}",
                "prices": event.data.get("prices"),
            }
        if event.type == SPENT:
            return _with_subagent(state, event.data.get("usage"))
        usage = _usage(event) if event.type in USAGE_TYPES else None
        at, prices, models = state.get("at"), state.get("prices"), state.get("models")
        if event.type == TITLE:
            at, prices = _route(event.data.get("source")), event.data.get("prices")
        if usage is None or not isinstance(at, str) or not isinstance(models, Mapping):
            return state
        return {**state, "models": {**models, at: _added(models.get(at), usage, prices)}}

    def view(self, state: JsonValue) -> JsonValue:
        """Return the sums by model, and the cost of all of them."""
        models = state.get("models") if isinstance(state, Mapping) else {}
        amount = total_cost(state)
        return {"models": models, "cost": None if amount is None else {"amount": amount, "currency": CURRENCY}}


def spent_since(events: Iterable[SessionEvent], seq: int) -> JsonObject:
    """Return what the events from `seq` on used, by model; those before only tell which model it was, and its prices.

    Empty when none of them used anything.
    """
    projection = UsageProjection()
    before: JsonValue = projection.initial()
    after: JsonValue = None
    for event in events:
        if event.seq < seq:
            before = projection.apply(before, event)
        else:
            after = projection.apply(_forgotten(before) if after is None else after, event)
    models = after.get("models") if isinstance(after, Mapping) else None
    return models if isinstance(models, Mapping) else {}


def _forgotten(state: JsonValue) -> JsonValue:
    return {**state, "models": {}} if isinstance(state, Mapping) else state


def _with_subagent(state: Mapping[str, JsonValue], given: JsonValue) -> JsonValue:
    """Return the state with the sums of a sub-agent added to those of the same models."""
    known = state.get("models")
    if not isinstance(given, Mapping) or not isinstance(known, Mapping):
        return state
    models = dict(known)
    for name, counts in given.items():
        if isinstance(counts, Mapping):
            models[name] = _summed(models.get(name), counts)
    return {**state, "models": models}


def _summed(known: JsonValue, more: Mapping[str, JsonValue]) -> JsonObject:
    before: Mapping[str, JsonValue] = known if isinstance(known, Mapping) else {"cost": 0.0}
    sums: dict[str, JsonValue] = {name: _count(before, name) + _count(more, name) for name in ("attempts", *_COUNTS)}
    costs = [cost for one in (before, more) if isinstance(cost := one.get("cost"), int | float)]
    return {**sums, "cost": sum(costs) if len(costs) == 2 else None}


def total_cost(state: JsonValue) -> float | None:
    """Return the dollars that all attempts have cost; None when one had no known price, or when there was none."""
    models = state.get("models") if isinstance(state, Mapping) else None
    if not isinstance(models, Mapping) or not models:
        return None
    amount = 0.0
    for counts in models.values():
        cost = counts.get("cost") if isinstance(counts, Mapping) else None
        if not isinstance(cost, int | float):
            return None
        amount += cost
    return round(amount, _DIGITS)


def _route(source: JsonValue) -> str | None:
    named = source if isinstance(source, Mapping) else {}
    return f"{named['provider']}/{named['model']}" if {"provider", "model"} <= named.keys() else None


def _usage(event: SessionEvent) -> TokenUsage | None:
    given = event.data.get("usage")
    if not isinstance(given, Mapping):
        return None
    try:
        return usage_from_json(given)
    except MessageFormatError:
        return None


def _added(known: JsonValue, usage: TokenUsage, prices: JsonValue) -> JsonObject:
    before = known if isinstance(known, Mapping) else {}
    used = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    counts: dict[str, JsonValue] = {"attempts": _count(before, "attempts") + 1}
    counts |= {name: _count(before, name) + (number or 0) for name, number in zip(_COUNTS, used, strict=True)}
    attempt, spent = _cost(usage, prices), before.get("cost", 0.0)
    if attempt is None or not isinstance(spent, int | float):
        return {**counts, "cost": None}
    return {**counts, "cost": spent + attempt}


def _cost(usage: TokenUsage, prices: JsonValue) -> float | None:
    """Return what the provider says that the attempt cost, else what it costs at the prices, if they are known."""
    if usage.cost is not None:
        return usage.cost
    charged = prices_from_json(prices)
    return None if charged is None else charged.cost(usage)


def _count(counts: JsonObject, name: str) -> int:
    number = counts.get(name)
    return number if type(number) is int else 0
