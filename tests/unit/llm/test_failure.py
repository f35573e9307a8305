"""What providers' answers mean: statuses, wordings, Retry-After, chains of causes."""

from __future__ import annotations

import pytest

from acp_server.llm.failure import (
    LlmError,
    classify_status,
    error_chain,
    is_context_overflow,
    is_overloaded,
    is_quota,
    plain_sentence,
)
from acp_server.llm.retry_after import http_date_ms, retry_after_ms
from acp_server.messages.chunks import LlmFailure

OVERFLOWS = (
    "context_length_exceeded Please shorten the messages.",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "prompt is too long: 210312 tokens > 200000 maximum",
    "Your input exceeds the context window of this model.",
    "Input is too long for requested model.",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 204800",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "the request exceeds the available context size. try increasing the context size",
    "exceed_context_size_error",
    "Your request exceeded model token limit: 131072",
    "invalid params, context window exceeds limit (2013)",
    "Prompt contains 66000 tokens and is too large for model with 32768 maximum context length",
    "Prompt exceeds max length",
    "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    "The conversation is too long for the model's context",
)
NO_OVERFLOWS = (
    "",
    "Request Entity Too Large",
    "request_too_large Request exceeds the maximum size",
    "max_tokens is too large: 500000. This model supports at most 16384 completion tokens.",
    "Rate limit reached for tokens per minute on this model, limit exceeded",
    "The image is too large",
    "You exceeded your current quota",
    "Unknown parameter: context",
    "Too many requests for this model",
)
QUOTAS = (
    "insufficient_quota",
    "You exceeded your current quota, please check your plan and billing details.",
    "Insufficient Balance",
    "Your credit balance is too low to access the API.",
    "monthly usage limit reached",
    "quota exhausted",
    "You are out of credits",
    "billing_hard_limit_reached",
    "Your account balance is not enough",
    "credits exhausted",
)
NO_QUOTAS = ("", "Rate limit reached", "context_length_exceeded", "Overloaded", "Too many requests", "limit: 5")


@pytest.mark.parametrize("text", OVERFLOWS)
def test_an_overflow_is_recognised(text: str) -> None:
    assert is_context_overflow(text)
    assert classify_status(400, {}, None, text).code == "CONTEXT_WINDOW_EXCEEDED"


@pytest.mark.parametrize("text", NO_OVERFLOWS)
def test_other_words_are_no_overflow(text: str) -> None:
    assert not is_context_overflow(text)


@pytest.mark.parametrize("text", QUOTAS)
def test_a_used_up_quota_is_recognised(text: str) -> None:
    assert is_quota(text)
    assert classify_status(429, {}, None, text).code == "QUOTA"


@pytest.mark.parametrize("text", NO_QUOTAS)
def test_other_words_are_no_quota(text: str) -> None:
    assert not is_quota(text)


def test_overload_is_recognised() -> None:
    assert [is_overloaded(text) for text in ("Overloaded", "overloaded_error", "server is busy", "late")] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("status", "code", "message", "expected"),
    [
        (401, "invalid_api_key", "Incorrect API key", "AUTH"),
        (401, None, "insufficient balance", "AUTH"),
        (403, None, "Forbidden", "AUTH"),
        (403, None, "account balance is insufficient", "QUOTA"),
        (402, None, "", "QUOTA"),
        (429, None, "", "RATE_LIMIT"),
        (429, "rate_limit_exceeded", "Request too large: tokens per min, limit exceeded for model", "RATE_LIMIT"),
        (429, None, "You exceeded your current quota per minute. Please retry in 20s.", "RATE_LIMIT"),
        (429, "engine_overloaded_error", "", "OVERLOADED"),
        (529, None, "", "OVERLOADED"),
        (503, "overloaded_error", "", "OVERLOADED"),
        (503, None, "", "SERVER"),
        (500, None, "boom", "SERVER"),
        (504, None, "", "SERVER"),
        (408, None, "", "TIMEOUT"),
        (400, None, "Unknown parameter", "INVALID_REQUEST"),
        (400, None, "Model Not Exist: no such model", "UNKNOWN_MODEL"),
        (404, "model_not_found", "", "UNKNOWN_MODEL"),
        (404, None, "The model `x` does not exist", "UNKNOWN_MODEL"),
        (404, None, "page not found", "HTTP_404"),
        (413, None, "Request Entity Too Large", "INVALID_REQUEST"),
        (422, None, "bad field", "INVALID_REQUEST"),
        (500, None, "the request exceeds the available context size", "CONTEXT_WINDOW_EXCEEDED"),
        (302, None, "", "HTTP_302"),
        (418, None, "", "HTTP_418"),
    ],
)
def test_a_status_and_its_words_give_a_code(status: int, code: str | None, message: str, expected: str) -> None:
    assert classify_status(status, {}, code, message).code == expected


def test_a_classified_failure_is_whole() -> None:
    headers = {"retry-after": "7", "x-request-id": "req_1"}
    assert classify_status(429, headers, "requests", "Rate limit\n reached") == LlmFailure(
        "RATE_LIMIT", "Rate limit reached", 429, 7000, "req_1"
    )
    assert classify_status(503, {}, None, "") == LlmFailure(
        "SERVER", "The model server answered with HTTP status 503.", 503
    )
    assert classify_status(999, {}, None, "x").status is None


def test_provider_words_become_one_plain_line() -> None:
    assert plain_sentence("a\n\n b\t c ") == "a b c"
    assert plain_sentence("<!DOCTYPE html><html><title>502 Bad Gateway</title><body>x") == "502 Bad Gateway"
    assert plain_sentence("<html><body>x</body></html>") == ""
    assert plain_sentence("key sk-mock-SECRETTAIL refused") == "key [secret] refused"
    assert len(plain_sentence("a b " * 1000)) == 500


DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("headers", "now_ms", "expected"),
    [
        ({}, None, None),
        ({"retry-after": "7"}, None, 7000),
        ({"retry-after": " 0.25 "}, None, 250),
        ({"retry-after": "0"}, None, None),
        ({"retry-after": "-3"}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "1e9"}, None, None),
        ({"retry-after": "999999999999"}, None, 2**31 - 1),
        ({"retry-after-ms": "1500", "retry-after": "7"}, None, 1500),
        ({"retry-after-ms": "x", "retry-after": "7"}, None, 7000),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT", "date": DATE}, None, 30_000),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT", "date": DATE}, 0, 30_000),
        ({"retry-after": DATE}, 784_111_777_000 - 2_500, 2_500),
        ({"retry-after": DATE}, None, None),
        ({"retry-after": DATE, "date": DATE}, None, None),
    ],
)
def test_retry_after(headers: dict[str, str], now_ms: int | None, expected: int | None) -> None:
    assert retry_after_ms(headers, now_ms) == expected


def test_http_dates() -> None:
    assert http_date_ms(DATE) == 784_111_777_000
    assert http_date_ms("Sunday, 06-Nov-94 08:49:37 GMT") == http_date_ms("Sun, 06 Nov 2094 08:49:37 GMT")
    assert http_date_ms("Sun, 31 Feb 1994 08:49:37 GMT") is None
    assert http_date_ms("Sun, 06 Xyz 1994 08:49:37 GMT") is None


class HostileError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_a_chain_tells_every_cause_once() -> None:
    root = OSError("refused")
    middle = ConnectionError("cannot connect")
    middle.__cause__ = root
    top = RuntimeError("request failed")
    top.__cause__ = middle
    assert error_chain(top) == "request failed: cannot connect: refused"
    middle.args = ("request failed",)
    assert error_chain(top) == "request failed: refused"


def test_a_chain_survives_cycles_groups_and_hostile_texts() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert error_chain(first) == "a: b"
    group = ExceptionGroup("all failed", [OSError("x"), OSError("y"), OSError("x")])
    assert error_chain(group) == "all failed [x; y]"
    assert error_chain(HostileError()) == "HostileError"
    assert error_chain(ValueError()) == "ValueError"
    hidden = ValueError("shown")
    hidden.__context__, hidden.__suppress_context__ = OSError("hidden"), True
    assert error_chain(hidden) == "shown"


def test_an_error_carries_its_failure() -> None:
    error = LlmError("RATE_LIMIT", "Slow down.", status=429, retry_after_ms=5, request_id="r")
    assert (error.code, error.message, error.failure) == (
        "RATE_LIMIT",
        "Slow down.",
        LlmFailure("RATE_LIMIT", "Slow down.", 429, 5, "r"),
    )
