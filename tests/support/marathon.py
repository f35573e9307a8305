"""Hundreds of turns in windows of every size: one run, and what has to hold of it."""

from __future__ import annotations

import random

from tests.support.windows import Bench, FileTools, WindowModel, check_compactions, held, rebuilt, rewritten

WINDOWS = (8_000, 32_000, 128_000, 1_000_000)


async def marathon(window: int, turns: int, seed: int = 7) -> Bench:
    """Return the bench after so many turns; every turn has ended well and every request kept the rules."""
    rng = random.Random(seed)
    model = WindowModel(window, rng, max_output=min(8192, window // 8))
    bench = Bench(model, FileTools(rng, longest=min(60_000, window * 3 // 8)))
    for turn in range(turns):
        end = await bench.say(f"Task {turn}: go on with the next file, please.")
        assert end.kind == "completed", (turn, end, bench.told[-3:])
    assert held(bench) == []
    assert model.refused == 0
    assert bench.reported == []
    _check_compactions(bench)
    for number in rng.sample(range(len(model.asked)), min(8, len(model.asked))):
        _check_rebuilt(bench, number)
    return bench


def _check_rebuilt(bench: Bench, number: int) -> None:
    """A request is a fold of the log; a summary's begins with what the conversation's would have."""
    asked, again = bench.model.asked[number], rebuilt(bench, number)
    assert (asked.system, asked.tools) == (again.system, again.tools)
    if asked.purpose == "conversation":
        assert (asked.messages, asked.config) == (again.messages, again.config)
    else:
        assert asked.messages[:-1] == again.messages[: len(asked.messages) - 1]


def _check_compactions(bench: Bench) -> None:
    check_compactions(list(bench.session.events.since(0)))
    replaced = bench.session.surface.replace_generation
    _, rewrites = rewritten(bench)
    assert rewrites <= replaced
