"""The benches measure: each suite run once with small amounts against the relay gives all its figures."""

from __future__ import annotations

import json

import pytest

from tests.bench import append, context, decode, idle, parallel, startup, store, stream, tools, turn
from tests.bench.__main__ import main
from tests.bench.figures import TARGETS, Figure, Target, percentile, table
from tests.bench.marks import requested, sent
from tests.bench.setting import RELAY, Setting, own_command

SMALL = Setting(RELAY.argv, rounds=1, scripted=False, deltas=50, paced=5, gap_ms=1)


def names(figures: list[Figure]) -> list[str]:
    assert all(figure.measured > 0 for figure in figures if figure.target is not TARGETS["idle-cpu"])
    assert all(figure.floor is not None for figure in figures)
    by_target = {id(target): name for name, target in TARGETS.items()}
    return [by_target[id(figure.target)] for figure in figures]


def test_startup() -> None:
    assert names(startup.run(SMALL)) == ["initialize", "new-first", "new-later", "first-http"]


def test_turn() -> None:
    assert names(turn.run(SMALL)) == ["request", "answered", "cancel"]


def test_stream() -> None:
    assert names(stream.run(SMALL)) == ["delta-p50", "delta-p95", "burst-rate", "burst-cpu"]


def test_idle() -> None:
    expected = ["memory-initialize", "memory-idle", "memory-burst", "idle-cpu", "eof-idle", "eof-turn"]
    assert names(idle.run(SMALL)) == expected


def test_parallel() -> None:
    assert names(parallel.run(SMALL)) == ["parallel", "parallel-p95"]


def test_tools() -> None:
    few = Setting(own_command(), rounds=1, files=2000)
    figures = {id(figure.target): figure.measured for figure in tools.run(few)}
    assert {id(TARGETS[name]) for name in ("tool-trip", "page")} <= figures.keys()
    assert min(figures.values()) > 0
    assert tools.run(SMALL) == []


def test_store() -> None:
    few = Setting(own_command(), rounds=1, sessions=3, messages=10, events=500)
    figures = store.run(few)
    by_target = {id(target): name for name, target in TARGETS.items()}
    assert all(figure.measured > 0 for figure in figures)
    assert [by_target[id(figure.target)] for figure in figures] == [
        "list-first",
        "list-later",
        "list-missing",
        "load",
        "load-long",
        "open",
        "open-memory",
    ]
    assert store.run(SMALL) == []


def test_huge() -> None:
    few = Setting(own_command(), rounds=1, many_events=500)
    assert [figure.target for figure in store.run_huge(few)] == [TARGETS["open-huge"], TARGETS["open-huge-memory"]]
    assert store.run_huge(SMALL) == []


def test_append() -> None:
    few = Setting(own_command(), rounds=3, batches=10)
    assert names(append.run(few)) == ["append-work", "append-flushed", "append-memory", "append-late"]
    assert append.run(SMALL) == []


def test_context() -> None:
    assert names(context.run(Setting(own_command(), rounds=3))) == ["pre-step"]
    assert context.run(SMALL) == []


def test_decode() -> None:
    assert names(decode.run(SMALL)) == ["decode-chat", "decode-responses", "decode-anthropic", "driver"]


def test_the_command_prints_json_beside_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parallel", "--rounds", "1", "--json", "--agent", " ".join(RELAY.argv)]) == 0
    printed = capsys.readouterr()
    figures = json.loads(printed.out)["figures"]
    known = {"name", "unit", "must", "goal", "more", "measured", "floor", "verdict", "note"}
    assert [set(figure) for figure in figures] == [known] * 2
    assert all(figure["name"] in printed.err for figure in figures)


@pytest.mark.parametrize(
    ("more", "measured", "verdict"),
    [
        (False, 1, "goal"),
        (False, 2, "must"),
        (False, 4, "missed"),
        (True, 9, "goal"),
        (True, 2, "must"),
        (True, 1, "missed"),
    ],
)
def test_a_figure_is_judged_by_its_bounds(more: bool, measured: float, verdict: str) -> None:
    must, goal = (2, 5) if more else (3, 1)
    assert Figure(Target("x", "ms", must, goal, more=more), measured).verdict == verdict


def test_a_figure_without_bounds_is_not_judged() -> None:
    assert Figure(Target("x", "ms"), 5).verdict == "-"


def test_the_table_has_one_row_a_figure() -> None:
    lines = table(
        [Figure(Target("x", "ms", 3, 1), 2.5, 0.5, "n"), Figure(Target("yy", "1/s", more=True), 12345)]
    ).split("\n")
    assert lines == [
        "| figure | unit | must | goal | measured | floor | verdict | note |",
        "|--------|------|------|------|----------|-------|---------|------|",
        "| x      | ms   | <= 3 | <= 1 | 2.5      | 0.5   | must    | n    |",
        "| yy     | 1/s  |      |      | 12,345   |       | -       |      |",
    ]


def test_marks_are_read_from_joined_and_split_pieces() -> None:
    pieces = [(10, "r1;t2;"), (20, "t3;t"), (30, "4;")]
    assert requested(pieces) == 1
    assert sent(pieces) == [(10, 2), (20, 3), (30, 4)]


def test_percentiles() -> None:
    assert (percentile([7.0], 95), percentile([1.0, 2.0, 3.0], 50)) == (7.0, 2.0)
