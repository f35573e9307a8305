"""What the person is told when a model does not answer: who failed, why, and what can be done. Pure.

Owns the sentences of docs/llm.md, table F, column "what is told". Never shows a key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from acp_server.base.values import value
from acp_server.messages.chunks import LlmFailure


@value
class CallPlace:
    """Whom a failure is about: provider and model by id, and what holds the key: a variable, a file, a command."""

    provider: str
    model: str
    key_variable: str | None = None


Advice: TypeAlias = Callable[[CallPlace, LlmFailure], tuple[str, str]]


def explain(failure: LlmFailure, place: CallPlace) -> str:
    """Return one paragraph of plain sentences: what happened, the provider's own words, what to do.

    A failure that is not a model's is told in its own words.
    """
    advice = _ADVICE.get(failure.code) or (_unclassified if failure.code.startswith("HTTP_") else None)
    if advice is None:
        return failure.message
    what, remedy = advice(place, failure)
    words = "" if failure.code in _TOLD_WHOLE else failure.message.strip()
    said = "" if not words or words in what else f" {_ended(words)}"
    request = f" (request {failure.request_id})" if failure.request_id else ""
    return f"{what}{said}{request}{' ' if remedy else ''}{remedy}"


def _ended(words: str) -> str:
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


def _status(failure: LlmFailure) -> str:
    return "" if failure.status is None else f" (HTTP {failure.status})"


def _key(place: CallPlace) -> str:
    return "its key" if place.key_variable is None else place.key_variable


def _auth(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return (
        f"{place.provider} refused the key{_status(failure)}.",
        f"Check that {_key(place)} holds a valid key for {place.provider} that may use {place.model}.",
    )


def _missing_key(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    where = f"Set {_key(place)}" if place.key_variable else "Set its key in the user's settings"
    return f"There is no key for {place.provider}.", f"{where}, log in, or choose another model."


def _invalid_key(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return (
        f"The key for {place.provider} cannot be sent.",
        f"Look at {_key(place)} for line breaks, spaces, quotes or odd characters inside it.",
    )


def _quota(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return (
        f"The allowance at {place.provider} is used up{_status(failure)}.",
        "Add credit there or choose another model.",
    )


def _rate_limit(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    wait = "a moment" if failure.retry_after_ms is None else f"{-(-failure.retry_after_ms // 1000)} s"
    return f"{place.provider} limits the rate of requests{_status(failure)}.", f"Try again in {wait}."


def _overloaded(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return f"{place.provider} is overloaded{_status(failure)}.", "Try again later or choose another model."


def _server(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return f"{place.provider} failed to answer{_status(failure)}.", "Try again later or choose another model."


def _timeout(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return f"{place.provider} took too long.", "Try again; the limits are in the settings."


def _transport(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return (
        f"The connection to {place.provider} failed.",
        "Check the network, the proxy variables and the provider's base URL.",
    )


def _overflow(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return (
        f"The conversation is longer than {place.model} can read.",
        "Compact it, start a new session, or choose a model with a larger context window.",
    )


def _unknown_model(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return f"{place.provider} does not know the model {place.model}.", "Choose another model."


def _empty(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return f"{place.model} of {place.provider} answered with nothing.", "Try again or choose another model."


def _broken(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return f"The answer of {place.provider} broke off or could not be read.", "Try again."


def _refused(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return f"{place.provider} refused the request{_status(failure)}.", ""


def _no_adapter(place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return f"There is no provider {place.provider}.", "Choose another model, or add the provider to the settings."


def _aborted(_place: CallPlace, _: LlmFailure) -> tuple[str, str]:
    return "The request was cancelled.", ""


def _unclassified(place: CallPlace, failure: LlmFailure) -> tuple[str, str]:
    return f"{place.model} of {place.provider} failed with {failure.code}{_status(failure)}.", ""


_ADVICE: Final[Mapping[str, Advice]] = {
    "AUTH": _auth,
    "MISSING_CREDENTIAL": _missing_key,
    "INVALID_CREDENTIAL": _invalid_key,
    "QUOTA": _quota,
    "RATE_LIMIT": _rate_limit,
    "OVERLOADED": _overloaded,
    "SERVER": _server,
    "TIMEOUT": _timeout,
    "TRANSPORT": _transport,
    "CONTEXT_WINDOW_EXCEEDED": _overflow,
    "UNKNOWN_MODEL": _unknown_model,
    "EMPTY_RESPONSE": _empty,
    "STREAM_CLOSED": _broken,
    "MALFORMED_RESPONSE": _broken,
    "INVALID_RESPONSE": _broken,
    "INVALID_REQUEST": _refused,
    "NO_ADAPTER": _no_adapter,
    "ABORTED": _aborted,
}
_TOLD_WHOLE: Final = frozenset({"MISSING_CREDENTIAL", "INVALID_CREDENTIAL", "NO_ADAPTER"})
"""Codes of failures of our own, whose words the sentences say already."""
