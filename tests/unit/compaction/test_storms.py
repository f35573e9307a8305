"""A model that says "too long" at any moment: the turn goes on or ends with a sentence, and the next prompt works."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from acp_server.agent.turns import TurnEnd
from acp_server.messages.request import GenerateOptions
from tests.support.windows import Bench, FileTools, WindowModel, torn

Refuses = Callable[[GenerateOptions, int], bool]
WINDOW = 16_000


def bench(refuses: Refuses = lambda _options, _number: False, *, huge: int = 0, known: bool = True) -> Bench:
    rng = random.Random(3)
    model = WindowModel(WINDOW, rng, max_output=1000, refuses=refuses, known=known)
    return Bench(model, FileTools(rng, longest=4000, huge=huge))


def well(end: TurnEnd) -> bool:
    return end.kind == "completed" or (end.failure is not None and end.failure.code == "CONTEXT_WINDOW_EXCEEDED")


async def spoken(played: Bench, turns: int) -> None:
    for turn in range(turns):
        end = await played.say(f"Task {turn}, please.")
        assert well(end), (turn, end, played.reported)
    assert [torn(asked.messages) for asked in played.model.asked if torn(asked.messages)] == []
    starts, ends = played.events("compaction/start"), played.events("compaction/end")
    assert len(starts) == len(ends)


@pytest.mark.parametrize("number", range(1, 30))
async def test_one_refusal_at_any_request_is_healed(number: int) -> None:
    played = bench(lambda _options, now: now == number)
    await spoken(played, 9)
    assert (await played.say("And now?")).kind == "completed"


@pytest.mark.parametrize("length", [2, 3, 5])
async def test_some_refusals_in_a_row_end_no_conversation(length: int) -> None:
    played = bench(lambda _options, now: 12 <= now < 12 + length)
    await spoken(played, 8)
    assert (await played.say("And now?")).kind == "completed"


async def test_without_any_summary_the_oldest_part_is_left_out() -> None:
    played = bench(lambda options, _now: options.purpose == "compaction")
    await spoken(played, 12)
    assert all(end.kind == "completed" for end in played.ends)
    assert any("left out" in sentence for sentence in played.told)
    assert [event for event in played.events("compaction/end") if event.data.get("trimmed") is True] != []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("huge", [30_000, 600_000])
async def test_a_result_that_is_larger_than_the_window_is_survived(huge: int, *, known: bool) -> None:
    played = bench(huge=huge, known=known)
    for turn in range(3):
        assert well(await played.say(f"Task {turn}, please."))
    played.tools.huge = 0
    assert (await played.say("And now?")).kind == "completed"


@pytest.mark.parametrize("known", [True, False])
async def test_a_prompt_that_is_larger_than_the_window_is_told_and_the_next_one_works(*, known: bool) -> None:
    played = bench(known=known)
    await spoken(played, 2)
    end = await played.say("word " * 40_000)
    assert end.kind == "error"
    assert end.failure is not None
    assert end.failure.code == "CONTEXT_WINDOW_EXCEEDED"
    assert (await played.say("And now?")).kind == "completed"
    assert (await played.say("And then?")).kind == "completed"


async def test_a_first_prompt_that_is_too_long_leaves_a_usable_session() -> None:
    played = bench()
    assert (await played.say("word " * 40_000)).kind == "error"
    assert (await played.say("And now?")).kind == "completed"
