"""What holds in a session at this moment, in words for a person and as JSON for a program (`/status`; clause EX-30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp_server.acp.queue import listed
from acp_server.agent.agent import Agent
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.prices import CURRENCY
from acp_server.session.session import Session
from acp_server.session.usage import UsageProjection, total_cost

_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def status_words(agent: Agent, _args: str) -> str:
    """Return what `/status` tells."""
    session = agent.session
    facts = {
        "Session": session.id,
        "Directory": session.header.cwd,
        "Model": f"{agent.config.provider}/{agent.config.model}",
        "Context window": _window_words(agent),
        **_spent_words(session),
        "Messages the model sees": len(session.messages()),
        "Events in the log": session.seq,
        "Prompts waiting": len(agent.inbox.waiting("next-turn")),
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def status_result(agent: Agent, options: Mapping[str, str], read_only: str | None) -> dict[str, Any]:
    """Return the result of `_acp_server/session/status`; `options` are the values of the config options."""
    session = agent.session
    parked = {message.id for message in agent.inbox.parked}
    waiting = [message for target in ("next-step", "next-turn") for message in agent.inbox.waiting(target)]
    window = _window(session)
    usage = agent.usage(window)
    result: dict[str, Any] = {
        "sessionId": session.id,
        "cwd": session.header.cwd,
        "state": "idle" if agent.idle else "running",
        "seq": session.seq,
        "messages": len(session.messages()),
        "options": dict(options),
        "queue": [{**listed(message), "parked": message.id in parked} for message in waiting],
        "window": {"used": usage.used if usage else None, "size": window, "compactsAt": usage.limit if usage else None},
        "spent": _spent(session),
    }
    if (title := _title(session)) is not None:
        result["title"] = title
    if read_only is not None:
        result["readOnly"] = read_only
    return result


def _title(session: Session) -> str | None:
    title: JsonValue = None
    for event in session.events.of_types(("session/title",)):
        title = event.data["title"]
    return title if isinstance(title, str) else None


def _window(session: Session) -> int | None:
    window = (session.request_context() or {}).get("contextWindow")
    return window if isinstance(window, int) else None


def _window_words(agent: Agent) -> str:
    window = _window(agent.session)
    usage = agent.usage(window)
    if usage is None or not usage.used:
        return "unknown" if window is None else f"{window:,} tokens"
    if window is None:
        return f"about {usage.used:,} tokens used, its size is unknown"
    full = round(100 * usage.used / window)
    begins = "compaction is off" if usage.limit is None else f"compacted from {usage.limit:,} on"
    return f"about {usage.used:,} of {window:,} tokens used ({full} %), {begins}"


def _spent(session: Session) -> dict[str, Any]:
    """Return what all requests took, as far as providers told; `cost` in CURRENCY is there when prices are known."""
    projection = UsageProjection()
    state = projection.initial()
    for event in session.events.milestones():
        state = projection.apply(state, event)
    counts = [found for found in _models(state).values() if isinstance(found, Mapping)]
    spent: dict[str, Any] = {key: sum(_number(found, key) for found in counts) for key in _COUNTS}
    cost = total_cost(state)
    return spent if cost is None else {**spent, "cost": {"amount": cost, "currency": CURRENCY}}


def _spent_words(session: Session) -> dict[str, str]:
    spent = _spent(session)
    read, cached = spent["inputTokens"], spent["cacheReadTokens"]
    facts = {}
    if read + cached:
        facts["Read from the provider's cache"] = (
            f"{round(100 * cached / (read + cached))} % of {read + cached:,} tokens"
        )
    return {**facts, "Cost": f"{spent['cost']['amount']:.4f} {CURRENCY}"} if "cost" in spent else facts


def _models(state: JsonValue) -> JsonObject:
    models = state.get("models") if isinstance(state, Mapping) else None
    return models if isinstance(models, Mapping) else {}


def _number(counts: JsonObject, name: str) -> int:
    number = counts.get(name)
    return number if isinstance(number, int) else 0
