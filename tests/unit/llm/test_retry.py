"""The retry table: what is tried again, when, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.base.errors import ServerError
from acp_server.llm.retry import NO_RETRY, TRANSIENT, RetryPolicy, plan_retry
from acp_server.messages.chunks import LlmFailure

POLICY = RetryPolicy()
SERVER = LlmFailure("SERVER", "")


@pytest.mark.parametrize("code", sorted(TRANSIENT))
def test_transient_faults_are_tried_again_unless_text_was_shown(code: str) -> None:
    assert plan_retry(POLICY, 1, LlmFailure(code, ""), 0, 0.5) == 500
    assert plan_retry(POLICY, 1, LlmFailure(code, ""), 0, 0.5, visible=True) is None


@pytest.mark.parametrize(
    "code",
    [
        "AUTH",
        "QUOTA",
        "INVALID_REQUEST",
        "HTTP_404",
        "MISSING_CREDENTIAL",
        "INVALID_CREDENTIAL",
        "UNKNOWN_MODEL",
        "CONTEXT_WINDOW_EXCEEDED",
        "ABORTED",
        "UNKNOWN",
        "UNSUPPORTED_CONTENT",
        "NO_ADAPTER",
        "CONTENT_FILTER",
    ],
)
def test_permanent_faults_are_not(code: str) -> None:
    assert plan_retry(POLICY, 1, LlmFailure(code, "", retry_after_ms=5), 0, 0.5) is None


def test_delays_double_up_to_the_longest() -> None:
    assert [plan_retry(POLICY, n, SERVER, 0, 0.5) for n in range(1, 7)] == [500, 1000, 2000, 4000, 8000, None]
    many = RetryPolicy(max_retries=100)
    assert [plan_retry(many, n, SERVER, 0, 0.5) for n in (6, 70, 100)] == [10_000, 10_000, 10_000]


def test_jitter_spreads_a_delay_to_both_sides() -> None:
    assert [plan_retry(POLICY, 1, SERVER, 0, r) for r in (0.0, 0.5, 1.0)] == [450, 500, 550]
    assert plan_retry(RetryPolicy(max_retries=9), 9, SERVER, 0, 1.0) == 10_000


def test_the_providers_wish_is_kept_up_to_a_minute() -> None:
    def asked(ms: int) -> int | None:
        return plan_retry(POLICY, 1, LlmFailure("RATE_LIMIT", "", 429, ms), 0, 0.0)

    assert [asked(1), asked(7_000), asked(60_000), asked(60_001)] == [1, 7_000, 60_000, None]


def test_the_budget_bounds_later_retries_only() -> None:
    assert plan_retry(POLICY, 1, SERVER, 300_000, 0.5) == 500
    assert plan_retry(POLICY, 2, SERVER, 119_000, 0.5) == 1000
    assert plan_retry(POLICY, 2, SERVER, 119_001, 0.5) is None


def test_no_retry_means_none() -> None:
    assert plan_retry(NO_RETRY, 1, SERVER, 0, 0.5) is None


@pytest.mark.parametrize(
    "values",
    [
        {"max_retries": -1},
        {"initial_ms": 0},
        {"initial_ms": 20_000},
        {"max_ms": 2**31},
        {"jitter": 1.5},
        {"jitter": float("nan")},
        {"provider_max_ms": -1},
        {"budget_ms": -1},
    ],
)
def test_a_policy_out_of_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ServerError) as caught:
        RetryPolicy(**values)  # type: ignore[arg-type]  # one wrong value at a time
    assert caught.value.code == "INVALID_RETRY_POLICY"


def test_equal_policies_have_equal_keys() -> None:
    assert RetryPolicy().key == RetryPolicy(codes=frozenset(sorted(TRANSIENT, reverse=True))).key
    assert RetryPolicy().key != RetryPolicy(max_retries=4).key


@given(st.integers(1, 200), st.floats(0, 1), st.integers(0, 10**6))
def test_a_delay_never_passes_the_longest(number: int, random: float, elapsed: int) -> None:
    delay = plan_retry(RetryPolicy(max_retries=100), number, SERVER, elapsed, random)
    assert delay is None or 0 < delay <= 10_000
