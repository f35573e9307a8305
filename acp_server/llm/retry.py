"""Whether and when a failed model call is tried again (docs/llm.md, clauses R-1 to R-6). Pure.

Owns the decision. Waiting, logging and asking again belong to whoever made the call.
"""

from __future__ import annotations

import json
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.messages.chunks import LlmFailure

TRANSIENT: Final = frozenset(
    {
        "EMPTY_RESPONSE",
        "RATE_LIMIT",
        "SERVER",
        "OVERLOADED",
        "TIMEOUT",
        "TRANSPORT",
        "STREAM_CLOSED",
        "MALFORMED_RESPONSE",
    }
)
"""Codes of faults that may be gone when the same request is made again."""


@value
class RetryPolicy:
    """How often and how long. Times are in milliseconds; `jitter` is the share by which a delay varies to both sides.

    `provider_max_ms` is the longest wait that a provider can ask for; `budget_ms` bounds the time from the first try
    to the start of the last one, except that the first retry is always due: a first try that ended by a long silence
    must not use the budget up.

    Raises:
        ServerError: INVALID_RETRY_POLICY, a value is out of range.
    """

    max_retries: int = 5
    initial_ms: int = 500
    max_ms: int = 10_000
    jitter: float = 0.1
    provider_max_ms: int = 60_000
    budget_ms: int = 120_000
    codes: frozenset[str] = TRANSIENT

    def __post_init__(self) -> None:
        longest = 2**31 - 1
        if not (
            0 <= self.max_retries <= 100
            and 0 < self.initial_ms <= self.max_ms <= longest
            and 0 <= self.jitter <= 1
            and 0 <= self.provider_max_ms <= longest
            and 0 <= self.budget_ms <= longest
        ):
            raise ServerError("INVALID_RETRY_POLICY", "A value of the retry policy is out of its range.")

    @property
    def key(self) -> str:
        """Return a text that is equal for equal policies, so that the log can tell whose retries it holds."""
        return json.dumps(
            {
                "maxRetries": self.max_retries,
                "initialDelayMs": self.initial_ms,
                "maxDelayMs": self.max_ms,
                "jitterRatio": self.jitter,
                "providerMaxDelayMs": self.provider_max_ms,
                "budgetMs": self.budget_ms,
                "retryableCodes": sorted(self.codes),
            },
            separators=(",", ":"),
        )


NO_RETRY: Final = RetryPolicy(max_retries=0)


def plan_retry(
    policy: RetryPolicy,
    retry_number: int,
    failure: LlmFailure,
    elapsed_ms: int,
    random: float,
    *,
    visible: bool = False,
) -> int | None:
    """Return the milliseconds to wait before that retry, or None when it is not to be made.

    Args:
        policy: the provider's policy.
        retry_number: 1 for the first retry.
        failure: how the last try ended.
        elapsed_ms: time since the first try began.
        random: a number from 0 to 1 that spreads the delays of many clients.
        visible: whether the last try has shown text; what was shown is never shown twice, so there is no retry.
    """
    if visible or retry_number > policy.max_retries or failure.code not in policy.codes:
        return None
    asked = failure.retry_after_ms
    if asked is not None and asked > policy.provider_max_ms:
        return None
    delay = _backoff(policy, retry_number, random) if asked is None else asked
    if retry_number > 1 and elapsed_ms + delay > policy.budget_ms:
        return None
    return delay


def _backoff(policy: RetryPolicy, retry_number: int, random: float) -> int:
    """Double from the initial delay up to the longest one, then vary it; the longest is never passed."""
    full = min(policy.initial_ms * 2.0 ** min(retry_number - 1, 62), policy.max_ms)
    return round(min(full * (1 - policy.jitter + 2 * policy.jitter * random), policy.max_ms))
