"""Counts of a whole log: prompts, turns, steps, calls, tokens, and when it was last written to.

Owns one projection (docs/sessions.md, clause V-5). It counts what happened, so what compaction takes off the Surface
and what a fork inherits count too. Tokens are those of every attempt: `usage` of answers and summaries, and of the
attempt that an `llm/retry` or a `turn/end` says has failed, when that event carries one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.session.events import SessionEvent

_USAGE_TYPES: Final = frozenset({"assistant/message", "compaction/summary", "llm/retry", "turn/end"})
_TOKENS: Final = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_UNSEEN: Final = frozenset({"session/end-seed"})
"""Opening a session writes these; it does not make the session younger."""


class StatsProjection:
    """`{prompts, turns, steps, toolCalls, retries, inputTokens, …, updatedAt}`; `updatedAt` in milliseconds.

    A turn counts when a step of it was closed. `updatedAt` is null for a log that has no event.
    """

    key: Final = "stats"
    version: Final = 1

    def initial(self) -> JsonValue:
        """Return zeros."""
        counts = ("prompts", "turns", "steps", "toolCalls", "retries", *_TOKENS)
        return {**dict.fromkeys(counts, 0), "lastTurn": 0, "updatedAt": None}

    def apply(self, state: JsonValue, event: SessionEvent) -> JsonValue:
        """Return the counts with the event's share."""
        if not isinstance(state, Mapping) or event.type in _UNSEEN:
            return state
        changed: dict[str, JsonValue] = {**state, "updatedAt": event.time}
        for name in _counted(state, event):
            changed[name] = _number(state, name) + 1
        if event.type == "step/end":
            changed["lastTurn"] = event.data["turn"]
        usage = event.data.get("usage") if event.type in _USAGE_TYPES else None
        if isinstance(usage, Mapping):
            changed |= {name: _number(state, name) + _number(usage, name) for name in _TOKENS}
        return changed

    def view(self, state: JsonValue) -> JsonValue:
        """Return the counts without the fold's own mark."""
        return {key: value for key, value in state.items() if key != "lastTurn"} if isinstance(state, Mapping) else {}


def _counted(state: JsonObject, event: SessionEvent) -> tuple[str, ...]:
    match event.type:
        case "user/message":
            source = event.data["source"]
            own = isinstance(source, Mapping) and source.get("kind") == "user" and "restores" not in event.data
            return ("prompts",) if own else ()
        case "step/end":
            return ("steps", "turns") if event.data["turn"] != state["lastTurn"] else ("steps",)
        case "tool/call":
            return ("toolCalls",)
        case "llm/retry-started":
            return ("retries",)
        case _:
            return ()


def _number(data: JsonObject, name: str) -> int:
    value = data.get(name)
    return value if type(value) is int and value >= 0 else 0
