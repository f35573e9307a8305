"""When a conversation is compacted and how much of it stays, as the settings say (docs/compaction.md, table P). Pure.

Owns the settings as values, their contradictions, and the limits that they make of a model's window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import replace, value
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig

LEAST_SUMMARY: Final = 256


@value
class PruneLimits:
    """A result of more than `threshold_chars` characters keeps its head and its tail."""

    threshold_chars: int = 8192
    head_chars: int = 4096
    tail_chars: int = 1024


@value
class Policy:
    """How one model's conversations are compacted.

    `retain_tokens` stands in front of `retain_ratio`. `summary` is the provider and model of summaries; None: that of
    the conversation.

    Raises:
        ServerError: INVALID_COMPACTION_POLICY, values that contradict each other.
    """

    auto: bool = True
    threshold_ratio: float = 0.8
    retain_ratio: float = 0.16
    retain_tokens: int | None = None
    summary: tuple[str, str] | None = None
    summary_max_tokens: int = 8192
    compaction_retries: int = 1
    max_overflow_retries: int = 1
    prune: PruneLimits = PruneLimits()

    def __post_init__(self) -> None:
        if not 0 < self.threshold_ratio <= 1:
            raise _wrong("threshold_ratio must be above 0 and at most 1")
        if self.retain_tokens is None and not 0 <= self.retain_ratio < self.threshold_ratio:
            raise _wrong("retain_ratio must be below threshold_ratio")
        if self.prune.head_chars + self.prune.tail_chars + 512 > self.prune.threshold_chars:
            raise _wrong("a pruned result (head, tail and 512 characters of a note) must be within its threshold")


@value
class Room:
    """What a model's window leaves.

    Attributes:
        window: tokens that a request and its answer may have together.
        reserve: tokens that the answer may take.
        limit: tokens from which on a request is compacted.
        retain: tokens of the newest messages that stay as they are.
    """

    window: int
    reserve: int
    limit: int
    retain: int

    @property
    def hard(self) -> int:
        """Return the tokens beyond which the provider would refuse the request."""
        return self.window - self.reserve


@value
class Policies:
    """The policy of every model: those that are named `provider/model` have their own."""

    default: Policy = Policy()
    models: Mapping[str, Policy] = {}

    def of(self, provider: str, model: str) -> Policy:
        """Return the model's policy."""
        return self.models.get(f"{provider}/{model}", self.default)

    def with_auto(self, auto: bool | None) -> Policies:
        """Return policies that compact by themselves or not, whatever the settings say; for None, these."""
        if auto is None:
            return self
        models = {name: replace(policy, auto=auto) for name, policy in self.models.items()}
        return Policies(replace(self.default, auto=auto), models)


def room_of(policy: Policy, info: ModelInfo, config: CallConfig) -> Room | None:
    """Return what the model's window leaves; None when the window is not known.

    The answer's room is what the request asks for, else the most that the model writes, but never more than half of
    the window.

    Raises:
        ServerError: INVALID_COMPACTION_POLICY, when `retain_tokens` is not below the threshold of this window.
    """
    window = info.context_window
    if window is None:
        return None
    reserve = min(config.max_tokens or info.max_output_tokens or 0, window // 2)
    threshold = int(window * policy.threshold_ratio)
    limit = min(threshold, window - reserve)
    if policy.retain_tokens is None:
        return Room(window, reserve, limit, min(int(window * policy.retain_ratio), limit // 2))
    if policy.retain_tokens >= threshold:
        raise _wrong(f"retain_tokens must be below the threshold, which is {threshold} for {info.provider}/{info.id}")
    return Room(window, reserve, limit, min(policy.retain_tokens, limit * 4 // 5))


def summary_budget(policy: Policy, window: int | None) -> int:
    """Return the tokens that a summary may take: at most an eighth of the window."""
    if window is None:
        return policy.summary_max_tokens
    return max(LEAST_SUMMARY, min(policy.summary_max_tokens, window // 8))


def _wrong(reason: str) -> ServerError:
    return ServerError("INVALID_COMPACTION_POLICY", f"The settings of compaction contradict each other: {reason}.")
