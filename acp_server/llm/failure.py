"""Failures of model calls as exceptions and as data, and what providers' words about them mean (docs/llm.md, table F).

Owns the taxonomy of codes and the classification by status and wording. What is tried again is `retry`'s matter, what
the person is told is `explain`'s. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.llm.masking import mask_secrets
from acp_server.llm.retry_after import retry_after_ms
from acp_server.messages.chunks import LlmFailure

__all__ = [
    "LlmError",
    "classify_status",
    "error_chain",
    "is_context_overflow",
    "is_overloaded",
    "is_quota",
    "mask_secrets",
    "plain_sentence",
    "retry_after_ms",
]

LONGEST_MESSAGE: Final = 500
_REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id", "x-deepseek-request-id", "cf-ray")


class LlmError(ServerError):
    """A model call that cannot go on; `failure` is what is logged and told."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.failure = LlmFailure(code, message, status, retry_after_ms, request_id)


def classify_status(status: int, headers: Mapping[str, str], code: str | None, message: str) -> LlmFailure:
    """Return the failure that an answer with an error status stands for.

    `code` is the provider's own word (error code or type), `message` its sentence; header names are lower case. The
    wording decides before the status where a status says too little: a used-up quota comes as 429 and cannot be
    waited for, a context overflow comes as 400 and can be healed.
    """
    request_id = next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)
    return LlmFailure(
        _code(status, f"{code or ''} {message}"),
        plain_sentence(message) or f"The model server answered with HTTP status {status}.",
        status if 100 <= status <= 599 else None,
        retry_after_ms(headers),
        request_id,
    )


def _code(status: int, words: str) -> str:
    if status == 401:
        return "AUTH"
    if status == 402 or (is_quota(words) and not (status == 429 and _found("passing", words))):
        return "QUOTA"
    if status == 403:
        return "AUTH"
    if status != 429 and is_context_overflow(words):
        return "CONTEXT_WINDOW_EXCEEDED"
    if status == 529 or (status in (429, 500, 502, 503) and is_overloaded(words)):
        return "OVERLOADED"
    if status == 429:
        return "RATE_LIMIT"
    if status == 408:
        return "TIMEOUT"
    if status == 404 and _found("unknown_model", words):
        return "UNKNOWN_MODEL"
    if status in (400, 413, 422):
        return "UNKNOWN_MODEL" if _found("unknown_model", words) else "INVALID_REQUEST"
    return "SERVER" if 500 <= status <= 599 else f"HTTP_{status}"


def is_context_overflow(text: str) -> bool:
    """Return whether the words say that the conversation is longer than the model can read.

    A size has to be tied to the context or the prompt: "too large" alone speaks of bytes, which no compaction by
    tokens answers, and tokens a minute are a rate.
    """
    return _found("overflow", text) and not _found("passing", text)


def is_quota(text: str) -> bool:
    """Return whether the words say that money or an allowance is used up, which no short wait can heal."""
    return _found("quota", text)


def is_overloaded(text: str) -> bool:
    """Return whether the words say that the provider has too much to do at the moment."""
    return _found("overloaded", text)


def plain_sentence(text: str) -> str:
    """Return a provider's words fit to be told: no markup, no secret, one line, at most LONGEST_MESSAGE characters."""
    if re.search(r"<(?:!doctype|html|head|body)\b", text, re.IGNORECASE):
        title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
        text = title[1] if title else ""
    text = mask_secrets(" ".join(text.split()))
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def error_chain(error: BaseException) -> str:
    """Return the messages of an exception and its causes, joined with ": ", members of a group in brackets.

    Repetitions are left out; cycles end; an exception whose text cannot be had is told by its type. Not masked.
    """
    return ": ".join(_chain(error, set()))


def _chain(error: BaseException | None, seen: set[int]) -> list[str]:
    words: list[str] = []
    while error is not None and id(error) not in seen and len(seen) < 32:
        seen.add(id(error))
        own = _own_words(error)
        if isinstance(error, BaseExceptionGroup):
            members = ["; ".join(dict.fromkeys(": ".join(_chain(member, seen)) for member in error.exceptions))]
            own = f"{own} [{members[0]}]"
        if own not in words:
            words.append(own)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return words


def _own_words(error: BaseException) -> str:
    try:
        text = error.message if isinstance(error, BaseExceptionGroup) else str(error)
    except Exception:  # noqa: BLE001 - a foreign exception may fail at anything
        text = ""
    return text.strip() or type(error).__name__


@cache
def _words(kind: str) -> re.Pattern[str]:
    """Compile at the first failure: the start of the process has no use for them."""
    return re.compile("|".join(_WORDINGS[kind]), re.IGNORECASE)


def _found(kind: str, text: str) -> bool:
    return _words(kind).search(text) is not None


_SIZE: Final = r"(?:exceed\w*|too (?:long|large|big|many)|(?:longer|larger|greater) than|over(?:flow\w*| the)|reached)"
_INPUT: Final = r"(?:prompt|inputs?|request|messages?|conversation|tokens?)"
_CONTEXT: Final = r"\bcontext[ _-]?(?:length|window|size|limit)\b"
_MONEY: Final = r"(?:quota|balance|credits?|funds)"
_WORDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "overflow": (
        r"context_(?:length|window)_exceeded|exceed_context_size",
        rf"{_CONTEXT}.{{0,80}}{_SIZE}",
        rf"{_SIZE}.{{0,80}}{_CONTEXT}",
        r"maximum context length|maximum (?:prompt|input) (?:length|tokens)",
        r"too (?:long|large|big) for (?:the |this )?(?:model(?:'s)? )?(?:context|window)",
        rf"\b{_INPUT}\b.{{0,60}}{_SIZE}.{{0,60}}(?:\bmodel\b|context|token limit|maximum number of (?:input )?tokens)",
        r"(?:prompt|input|conversation|context) is too long|(?:prompt|input) exceeds (?:the )?max(?:imum)? length",
        r"reduce the length of the (?:messages|prompt|input)|input length and `?max_tokens`? exceed",
        r"range of input length should be",
    ),
    "passing": (r"per[ _-]?(?:min\w*|second)|\brate[ _-]?limit|(?:retry|try again) in [\d.]+ ?(?:ms|s|seconds?)\b",),
    "quota": (
        rf"insufficient[ _-]?{_MONEY}|{_MONEY} (?:is |are )?(?:too low|insufficient|not enough)",
        r"\b(?:quota|usage limit|billing (?:hard )?limit|spend(?:ing)? limit)\b.{0,40}(?:exceed|exhaust|reached|used)",
        r"exceeded your (?:current|monthly|daily) (?:quota|usage)",
        r"(?:exhausted|exceeded) your .{0,30}(?:quota|credits?)",
        rf"{_MONEY} (?:is |are |has been |have been )?exhausted|out of (?:credits?|budget|funds)",
        r"billing_(?:not_active|hard_limit_reached|error)|payment required",
    ),
    "overloaded": (
        r"overloaded|(?:over|at|no) ?capacity|server is busy|too busy|slow_down|insufficient_system_resource",
    ),
    "unknown_model": (
        r"model_not_found|model_not_exist|unknown_model|unknown model|no such model",
        r"\bmodel\b.{0,80}(?:not found|does not exist|not exist\b|is not available|not a valid model)",
    ),
}
