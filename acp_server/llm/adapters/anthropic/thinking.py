"""How Messages is asked to think: models differ in the form they take (docs/llm.md, clause W-14)."""

from __future__ import annotations

import re
from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.llm.failure import LlmError
from acp_server.messages.request import CallConfig

BUDGETS: Final = {"minimal": 1_024, "low": 4_096, "medium": 12_288, "high": 24_576, "xhigh": 32_768, "max": 49_152}
"""Tokens of thinking by effort, for models that take a budget."""

LEAST_BUDGET: Final = 1_024
LEAST_ANSWER: Final = 1_024
"""Tokens that stay for the answer itself: a budget counts within max_tokens."""

_DECIDES: Final = re.compile(r"claude-(?!3)(?!(?:opus|sonnet|haiku)-4(?!-[6-9]))")
"""Claude from 4.6 on: takes an effort and decides by itself how much to think. What came before, and other providers'
models behind this protocol, take a budget."""


def thinking(config: CallConfig, limit: int) -> dict[str, JsonValue]:
    """Return what asks for thinking of this effort; nothing when the request does not speak of it.

    Raises:
        LlmError: UNSUPPORTED_OPTION, a temperature beside thinking, or no room for both a budget and an answer.
    """
    effort = config.reasoning_effort
    if effort is None:
        return {}
    if effort in ("off", "none"):
        return {"thinking": {"type": "disabled"}}
    if config.temperature is not None:
        raise LlmError("UNSUPPORTED_OPTION", "The Messages protocol takes no temperature while the model thinks.")
    if _DECIDES.search(config.model):
        # Without a display, models from 4.7 on send thinking without its words.
        how: JsonValue = {"type": "adaptive", "display": "summarized"}
        return {"thinking": how, "output_config": {"effort": effort}}
    budget = min(BUDGETS.get(effort, BUDGETS["high"]), limit - LEAST_ANSWER)
    if budget < LEAST_BUDGET:
        raise LlmError("UNSUPPORTED_OPTION", f"A limit of {limit} tokens leaves no room for thinking and an answer.")
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
