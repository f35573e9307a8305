"""How much and how long, as the settings say: steps of a turn, sub-agents, HTTP times, retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.agent.services import MAX_STEPS
from acp_server.base.values import value
from acp_server.llm.limits import HttpLimits
from acp_server.llm.retry import RetryPolicy


@value
class Limits:
    """Limits of one process; they hold from the next turn and the next request on."""

    max_steps: int = MAX_STEPS
    http: HttpLimits = HttpLimits()
    retry: RetryPolicy = RetryPolicy()
    subagents: int = 8
    """Sub-agents of one session that are at work at the same time."""
    subagent_depth: int = 1
    """How deep sub-agents may start others; 0 for none at all."""


DEFAULT: Final = Limits()
_COUNTS: Final = ("max_steps", "subagents", "subagent_depth")
_TIMES: Final = ("connect", "first_byte", "silence", "progress")


def limits_of(config: Mapping[str, Any]) -> Limits:
    """Return the limits of a row's config.

    Raises:
        ServerError: INVALID_RETRY_POLICY, for values that contradict each other.
    """
    times: dict[str, Any] = {name: float(config[f"{name}_seconds"]) for name in _TIMES if f"{name}_seconds" in config}
    counts: dict[str, int] = {name: config[name] for name in _COUNTS if name in config}
    return Limits(http=HttpLimits(**times), retry=RetryPolicy(**config.get("retry", {})), **counts)
