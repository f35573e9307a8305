"""The person is told who failed, why, and what to do."""

from __future__ import annotations

import pytest

from acp_server.llm.explain import _ADVICE, _TOLD_WHOLE, CallPlace, explain
from acp_server.messages.chunks import LlmFailure

PLACE = CallPlace("openai", "mock", "OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (
            LlmFailure("AUTH", "Incorrect API key provided", 401, request_id="req_1"),
            (
                "openai refused the key (HTTP 401). Incorrect API key provided. (request req_1) "
                "Check that OPENAI_API_KEY holds a valid key for openai that may use mock."
            ),
        ),
        (
            LlmFailure("MISSING_CREDENTIAL", ""),
            "There is no key for openai. Set OPENAI_API_KEY, log in, or choose another model.",
        ),
        (
            LlmFailure("RATE_LIMIT", "Rate limit reached", 429, 6500),
            "openai limits the rate of requests (HTTP 429). Rate limit reached. Try again in 7 s.",
        ),
        (
            LlmFailure("RATE_LIMIT", "", 429),
            "openai limits the rate of requests (HTTP 429). Try again in a moment.",
        ),
        (LlmFailure("HTTP_451", "No.", 451), "mock of openai failed with HTTP_451 (HTTP 451). No."),
        (LlmFailure("DISK_FAILED", "The disk is full."), "The disk is full."),
        (
            LlmFailure("MISSING_CREDENTIAL", "No key is set for openai (OPENAI_API_KEY)."),
            "There is no key for openai. Set OPENAI_API_KEY, log in, or choose another model.",
        ),
        (LlmFailure("ABORTED", "The request was cancelled."), "The request was cancelled."),
    ],
)
def test_sentences(failure: LlmFailure, told: str) -> None:
    assert explain(failure, PLACE) == told


def test_without_a_variable_the_settings_are_named() -> None:
    assert explain(LlmFailure("MISSING_CREDENTIAL", ""), CallPlace("local", "m")) == (
        "There is no key for local. Set its key in the user's settings, log in, or choose another model."
    )


@pytest.mark.parametrize("code", sorted(_ADVICE.keys() - _TOLD_WHOLE))
def test_every_code_keeps_the_providers_words(code: str) -> None:
    told = explain(LlmFailure(code, "Those were the words", 500), PLACE)
    assert "Those were the words." in told
    assert told[0].isupper() or told.startswith(("openai", "mock"))
