"""Hundreds of turns in windows of every size: one run, and what has to hold of it."""

from __future__ import annotations

import itertools
import random

from tests.support.windows import Bench, FileTools, WindowModel, growth, held, rebuilt, rewritten

WINDOWS = (8_000, 32_000, 128_000, 1_000_000)
MOST_GROWTH = 64 * 1024


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
    starts, ends = bench.events("compaction/start"), bench.events("compaction/end")
    assert len(starts) == len(ends)
    assert [end for end in ends if "error" in end.data] == []
    for start, end in zip(starts, ends, strict=True):
        assert growth(bench.session, start.seq, end.seq) <= MOST_GROWTH
    steps = [event.seq for event in bench.events("step/start")]
    compacted = [sum(1 for start in starts if low < start.seq < high) for low, high in itertools.pairwise(steps)]
    assert max(compacted, default=0) <= 2
    assert all(not (one and other) for one, other in itertools.pairwise(compacted))
    replaced = bench.session.surface.replace_generation
    _, rewrites = rewritten(bench)
    assert rewrites <= replaced
