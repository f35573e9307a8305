"""How much and how long, as the settings say: steps of a turn, HTTP times, retries."""

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


DEFAULT: Final = Limits()
_TIMES: Final = ("connect", "first_byte", "silence", "progress")


def limits_of(config: Mapping[str, Any]) -> Limits:
    """Return the limits of a row's config.

    Raises:
        ServerError: INVALID_RETRY_POLICY, for values that contradict each other.
    """
    times: dict[str, Any] = {name: float(config[f"{name}_seconds"]) for name in _TIMES if f"{name}_seconds" in config}
    return Limits(config.get("max_steps", MAX_STEPS), HttpLimits(**times), RetryPolicy(**config.get("retry", {})))
