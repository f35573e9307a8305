"""Failures that model servers tell in words of their own, inside a stream or with an error status.

Owns the table from providers' words to our codes (docs/llm.md, table F) for failures that come without a telling HTTP
status. What a status means is `failure`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from acp_server.llm.adapters.wire_json import joined_pairs, parse, record
from acp_server.llm.failure import (
    classify_status,
    is_context_overflow,
    is_overloaded,
    is_quota,
    mask_secrets,
    plain_sentence,
)
from acp_server.messages.chunks import LlmFailure

_CODES: Final[Mapping[str, str]] = {
    "authentication_error": "AUTH",
    "permission_error": "AUTH",
    "invalid_api_key": "AUTH",
    "rate_limit_error": "RATE_LIMIT",
    "rate_limit_exceeded": "RATE_LIMIT",
    "requests": "RATE_LIMIT",
    "tokens": "RATE_LIMIT",
    "overloaded_error": "OVERLOADED",
    "server_overloaded": "OVERLOADED",
    "server_is_overloaded": "OVERLOADED",
    "slow_down": "OVERLOADED",
    "insufficient_system_resource": "OVERLOADED",
    "engine_overloaded_error": "OVERLOADED",
    "timeout_error": "TIMEOUT",
    "server_error": "SERVER",
    "internal_error": "SERVER",
    "internal_server_error": "SERVER",
    "api_error": "SERVER",
    "vector_store_timeout": "TIMEOUT",
    "invalid_prompt": "INVALID_REQUEST",
    "invalid_request_error": "INVALID_REQUEST",
    "not_found_error": "INVALID_REQUEST",
    "request_too_large": "INVALID_REQUEST",
    "badrequesterror": "INVALID_REQUEST",
}
"""Providers' error codes and types, in lower case."""


def told(error: object) -> LlmFailure:
    """Return the failure that an error object of a stream, or its bare text, stands for.

    What cannot be told apart is SERVER: the request had been accepted, so asking again may help.
    """
    code, kind, message = error_words(error)
    sentence = plain_sentence(message) or "The model server reported an error without a reason."
    return LlmFailure(_code(code.lower(), kind.lower(), message), sentence)


def _code(code: str, kind: str, message: str) -> str:
    words = f"{code} {kind} {message}"
    if is_context_overflow(words):
        return "CONTEXT_WINDOW_EXCEEDED"
    if is_quota(words):
        return "QUOTA"
    for word in (code, kind):
        if word in _CODES:
            return _CODES[word]
    if is_overloaded(words):
        return "OVERLOADED"
    if re.fullmatch("[45][0-9][0-9]", code):
        return classify_status(int(code), {}, kind, message).code
    return "SERVER"


def refused(status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
    """Return what an answer with an error status says; header names are lower case."""
    content = body.decode(errors="replace").strip()
    try:
        document: Any = parse(content)
    except ValueError:
        document = content
    code, kind, message = error_words(_error_of(document))
    return classify_status(status, headers, code or kind, message)


def malformed(data: str) -> LlmFailure:
    """Return the failure for an event that is not what the protocol says; it shows the event's beginning."""
    return LlmFailure("MALFORMED_RESPONSE", f"The model server sent an event that is no answer: {_start(data)}")


def error_words(error: object) -> tuple[str, str, str]:
    """Return the code, the type and the message of an error object; what is missing is empty."""
    if isinstance(error, str):
        return "", "", joined_pairs(error)
    told_by = record(error)
    code, kind = told_by.get("code"), told_by.get("type")
    message = told_by.get("message") or told_by.get("detail") or told_by.get("error") or ""
    return _word(code), _word(kind), joined_pairs(message if isinstance(message, str) else str(message))


def _error_of(document: object) -> object:
    if isinstance(document, list) and document:
        document = document[0]
    inner = record(document).get("error")
    return document if not inner or isinstance(inner, str) else inner


def _word(value: object) -> str:
    return joined_pairs(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _start(data: str) -> str:
    return mask_secrets(data[:120].encode(errors="replace").decode())
