from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.updates import Presenter
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import TextBlock
from acp_server.session.projections import ProjectionSet
from acp_server.session.usage import SPENT, UsageProjection, spent_since, total_cost
from tests.support.story import Story, events_of

PRICES: dict[str, JsonValue] = {"input": 2.0, "output": 10.0, "cacheRead": 0.5}
USED: dict[str, JsonValue] = {"inputTokens": 1_000, "outputTokens": 100, "cacheReadTokens": 2_000}
NONE = {"cacheReadTokens": 0, "cacheWriteTokens": 0, "reasoningTokens": 0}


def context(story: Story, model: str = "m", prices: JsonValue = PRICES) -> None:
    facts: dict[str, JsonValue] = {"provider": "p", "model": model, "contextWindow": 9_000}
    story.session.append("request/context", facts if prices is None else {**facts, "prices": prices})


def retry(story: Story, usage: JsonValue) -> None:
    place: dict[str, Any] = {**story.place, "retryId": "x", "retry": 1, "delayMs": 1, "failure": {}}
    story.session.append("llm/retry", {**place, "usage": usage})


def view(story: Story) -> Any:
    projections = ProjectionSet(story.session.events)
    projections.register(UsageProjection())
    return projections.view("usage")


def costs(story: Story) -> list[Any]:
    presenter = Presenter()
    shown = [update for event in events_of(story) for update in presenter.present(event)]
    return [update.get("cost") for update in shown if isinstance(update, dict) and "used" in update]


def test_an_empty_log_has_cost_nothing_that_could_be_told() -> None:
    assert view(Story()) == {"models": {}, "cost": None}
    assert total_cost(None) is None


def test_every_attempt_counts_at_the_prices_of_its_time() -> None:
    story = Story().begin()
    context(story)
    retry(story, {"inputTokens": 500, "outputTokens": 0})
    story.answer(TextBlock("x"), usage=USED)
    context(story, "other", {"input": 1.0, "output": 1.0})
    story.answer(TextBlock("y"), usage={"inputTokens": 10, "outputTokens": 20, "reasoningTokens": 5})
    context(story, prices={"input": 20.0, "output": 100.0})
    story.answer(TextBlock("z"), usage={"inputTokens": 1, "outputTokens": 0})
    assert view(story) == {
        "models": {
            "p/m": {
                **NONE,
                "attempts": 3,
                "inputTokens": 1_501,
                "outputTokens": 100,
                "cacheReadTokens": 2_000,
                "cost": pytest.approx(0.001 + 0.004 + 0.00002),
            },
            "p/other": {
                **NONE,
                "attempts": 1,
                "inputTokens": 10,
                "outputTokens": 20,
                "reasoningTokens": 5,
                "cost": pytest.approx(0.00003),
            },
        },
        "cost": {"amount": 0.00505, "currency": "USD"},
    }
    assert costs(story) == [
        {"amount": 0.005, "currency": "USD"},
        {"amount": 0.00503, "currency": "USD"},
        {"amount": 0.00505, "currency": "USD"},
    ]


def test_what_the_provider_says_that_it_charged_outranks_prices_and_needs_none() -> None:
    story = Story().begin()
    context(story)
    story.answer(TextBlock("x"), usage={**USED, "cost": 0.5})
    context(story, "routed", None)
    retry(story, {**USED, "cost": 0})
    story.answer(TextBlock("y"), usage={**USED, "cost": 0.25})
    assert view(story)["cost"] == {"amount": 0.75, "currency": "USD"}
    assert costs(story) == [{"amount": 0.5, "currency": "USD"}, {"amount": 0.75, "currency": "USD"}]


def test_a_failed_turn_counts() -> None:
    story = Story().begin()
    context(story)
    story.close_step()
    reason: dict[str, JsonValue] = {"kind": "error", "error": {"message": "no", "code": "SERVER"}}
    story.session.append("turn/end", {"turn": 1, "reason": reason, "usage": USED})
    assert view(story)["cost"] == {"amount": 0.004, "currency": "USD"}


def test_no_sum_is_told_that_leaves_an_attempt_out() -> None:
    story = Story().begin()
    context(story, "free", None)
    story.answer(TextBlock("x"), usage=USED)
    context(story)
    story.answer(TextBlock("y"), usage=USED)
    seen = view(story)
    assert (seen["cost"], seen["models"]["p/free"]["cost"]) == (None, None)
    assert seen["models"]["p/m"]["cost"] == pytest.approx(0.004)
    assert costs(story) == [None, None]


@pytest.mark.parametrize(
    "usage", [None, 3, {}, {"inputTokens": -1, "outputTokens": 0}, {"inputTokens": 1}, {**USED, "cost": "1"}]
)
def test_what_is_no_usage_counts_nothing(usage: JsonValue) -> None:
    story = Story().begin()
    context(story)
    retry(story, usage)
    assert view(story) == {"models": {}, "cost": None}


def test_what_a_subagent_used_counts_by_model_and_at_its_own_prices() -> None:
    child = Story().begin()
    context(child, prices={"input": 100.0, "output": 100.0})
    child.answer(TextBlock("inherited"), usage=USED)
    seed = child.session.seq
    child.answer(TextBlock("own"), usage={"inputTokens": 100, "outputTokens": 0})
    used = spent_since(child.session.events.milestones(), seed)
    assert used == {"p/m": {**NONE, "attempts": 1, "inputTokens": 100, "outputTokens": 0, "cost": pytest.approx(0.01)}}
    parent = Story().begin()
    context(parent)
    parent.answer(TextBlock("x"), usage=USED)
    parent.session.append(SPENT, {"callId": "c", "sessionId": "s", "usage": used}, ignorable=True)
    assert view(parent)["models"]["p/m"]["attempts"] == 2
    assert view(parent)["cost"] == {"amount": 0.014, "currency": "USD"}
    parent.answer(TextBlock("y"), usage={"inputTokens": 0, "outputTokens": 0})
    assert [cost["amount"] for cost in costs(parent)] == [0.004, 0.014]
    other: dict[str, JsonValue] = {"p/free": {**NONE, "attempts": 1, "inputTokens": 1, "outputTokens": 0, "cost": None}}
    parent.session.append(SPENT, {"callId": "d", "sessionId": "t", "usage": other}, ignorable=True)
    assert view(parent)["cost"] is None


def test_a_subagent_that_used_nothing_counts_nothing() -> None:
    child = Story().begin()
    context(child)
    assert spent_since(child.session.events.milestones(), 0) == {}
