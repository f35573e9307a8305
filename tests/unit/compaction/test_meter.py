"""The meter is close to a tokenizer before the first report, closer after it, and looks at each event once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.base.cancel import CancelToken
from acp_server.compaction.estimate import image_tokens, message_tokens, text_tokens
from acp_server.compaction.exact import count_exactly, encoding_of
from acp_server.compaction.meter import Meter
from acp_server.messages.blocks import ImageBlock, TextBlock
from acp_server.session.events import SessionEvent
from acp_server.session.log import MemoryLog
from tests.support.story import Story, session, user
from tests.support.talks import said

DATA = Path(__file__).with_name("data")
KINDS = ("english", "chinese", "code", "json")
EXACT = {"english": 1619, "chinese": 398, "code": 1717, "json": 1030}
"""Tokens of the samples by o200k_base."""


def sample(kind: str) -> str:
    return (DATA / f"{kind}.txt").read_text("utf-8")


async def test_the_counts_of_the_samples_are_the_tokenizers() -> None:
    counts = await count_exactly("any", [sample(kind) for kind in KINDS], CancelToken(), 60)
    assert counts == list(EXACT.values())


async def test_words_that_a_tokenizer_reserves_are_text() -> None:
    assert await count_exactly("gpt-4", ["<|endoftext|>", "", "hello"], CancelToken(), 60) == [7, 0, 1]
    assert await count_exactly("gpt-5.6", ["<|endoftext|>", "", "hello"], CancelToken(), 60) == [7, 0, 1]


def test_older_models_have_the_older_ranks() -> None:
    names = ("gpt-4", "gpt-4-turbo", "openai/gpt-3.5-turbo", "gpt-4o", "gpt-4.1", "claude-opus-5")
    assert [encoding_of(name)[:2] for name in names] == ["cl", "cl", "cl", "o2", "o2", "o2"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_is_within_fifteen_percent(kind: str) -> None:
    text, exact = sample(kind), EXACT[kind]
    assert abs(text_tokens(text) - exact) <= 0.15 * exact
    assert abs(text_tokens(text * 5) - 5 * exact) <= 0.15 * 5 * exact


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_report_the_count_of_the_next_request_is_within_five_percent(kind: str) -> None:
    text, exact = sample(kind), EXACT[kind]
    story = Story()
    story.begin("m1")
    story.say(user("m2", text))
    story.answer(TextBlock("Thank you."), usage={"inputTokens": exact + 40, "outputTokens": 4})
    story.say(user("m3", text[: len(text) // 2]))
    meter = Meter(story.session.events)
    after = exact + 44 + exact * (len(text[: len(text) // 2]) / len(text))
    assert meter.anchored
    assert abs(meter.total() - after) <= 0.05 * after


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(0, 0, 1600), (10, 10, 85), (1000, 1000, 1333), (8000, 4000, 1639), (1568, 100, 209)],
)
def test_an_image_costs_its_pixels(width: int, height: int, tokens: int) -> None:
    assert image_tokens(ImageBlock("sha256:0", "image/png", 1, width, height)) == tokens


def test_a_report_that_leaves_something_out_is_not_believed() -> None:
    story = Story()
    story.begin("m1")
    story.say(user("m2", "word " * 2000))
    meter = Meter(story.session.events)
    before = meter.total()
    story.answer(TextBlock("so"), usage={"inputTokens": 40, "outputTokens": 2})
    anchored = [meter.anchored]
    assert meter.total() > before
    story.answer(TextBlock("so"), usage={"inputTokens": 40, "outputTokens": 2, "cacheReadTokens": 9000})
    assert [*anchored, meter.anchored] == [False, True]
    assert meter.total() == 9042
    assert meter.total(("another", "model")) < 9042


def test_exact_prices_take_the_place_of_estimates_until_a_provider_reports() -> None:
    story = Story()
    story.begin("m1")
    told = story.say(user("m2", "word " * 100))
    meter = Meter(story.session.events)
    route = ("scripted", "demo")
    assert meter.estimated_nodes(route) == story.session.surface.nodes
    before = meter.surface
    meter.correct({told.seq: 1000})
    assert meter.surface == before - message_tokens(said("word " * 100)) + 1000
    assert told.seq not in meter.estimated_nodes(route)
    story.answer(TextBlock("so"), usage={"inputTokens": 5000, "outputTokens": 2})
    assert meter.estimated_nodes(route) == ()


class CountingLog(MemoryLog):
    """A log that counts the events that somebody looked at."""

    looked = 0

    def milestones(self, seq: int = 0) -> Iterator[SessionEvent]:
        for event in super().milestones(seq):
            self.looked += 1
            yield event


def test_asking_costs_what_has_happened_since() -> None:
    log = CountingLog()
    story = Story(session(log, strict=False))
    meter = Meter(log)
    for number in range(200):
        story.say(user(f"m{number}"))
    meter.total()
    story.say(user("one more"))
    log.looked = 0
    meter.total()
    meter.total()
    assert log.looked == 1


async def test_a_count_that_takes_too_long_is_given_up() -> None:
    assert await count_exactly("any", ["some words"], CancelToken(), 0.0) is None
