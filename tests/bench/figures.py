"""A measured figure, what it has to be, and the table and JSON of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """A row of the performance budget: `must` holds in every release, `goal` is where it has to end up.

    `more` marks figures of which more is better. A row without bounds informs and is not judged.
    """

    name: str
    unit: str
    must: float | None = None
    goal: float | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """One target measured; `floor` is the same thing done by the relay (or the bare interpreter) in the same run."""

    target: Target
    measured: float
    floor: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Return "goal", "must" or "missed"; "-" for a row that is not judged."""
        if self.target.must is None or self.target.goal is None:
            return "-"
        if self._reaches(self.target.goal):
            return "goal"
        return "must" if self._reaches(self.target.must) else "missed"

    def _reaches(self, bound: float) -> bool:
        return self.measured >= bound if self.target.more else self.measured <= bound

    def to_json(self) -> dict[str, Any]:
        """Return the figure as a flat JSON object."""
        rest = {"measured": self.measured, "floor": self.floor, "verdict": self.verdict, "note": self.note}
        return {**asdict(self.target), **rest}


TARGETS = {
    "initialize": Target("spawn -> initialize answered, to a bare interpreter", "ratio", 2.8, 2.2),
    "new-first": Target("initialize -> session/new answered, first in the process", "ms", 200, 110),
    "new-later": Target("session/new answered, later", "ms", 5, 2),
    "first-scripted": Target("spawn -> first content, scripted", "ms", 300, 180),
    "first-http": Target("spawn -> first content, over HTTP", "ms", 600, 310),
    "request": Target("prompt written -> model request received, warm", "ms", 8, 4),
    "answered": Target("last delta -> prompt answered", "ms", 6, 3),
    "cancel": Target("cancel -> prompt answered, p95", "ms", 100, 30),
    "delta-p50": Target("delta sent -> update read, p50", "ms", 1.5, 1.1),
    "delta-p95": Target("delta sent -> update read, p95", "ms", 4, 2.5),
    "burst-rate": Target("burst over HTTP, deltas", "1/s", 10_000, 16_000, more=True),
    "burst-cpu": Target("burst over HTTP, processor time a delta", "us", 90, 60),
    "scripted-rate": Target("burst scripted, deltas", "1/s", more=True),
    "scripted-cpu": Target("burst scripted, processor time a delta", "us"),
    "decode-chat": Target("one event decoded, Chat Completions", "us", 15, 10),
    "decode-responses": Target("one event decoded, Responses", "us", 15, 10),
    "decode-anthropic": Target("one event decoded, Messages", "us", 15, 10),
    "driver": Target("bare httpx loop to HTTP driver and SSE, processor time", "ratio", 0.8, 0.9, more=True),
    "parallel": Target("four sessions at once, 1,000 deltas each", "s", 0.5, 0.3),
    "parallel-p95": Target("sixteen turns at once, delta sent -> update read, p95", "ms", 50, 20),
    "memory-initialize": Target("memory at the initialize answer", "MB", 15, 14),
    "memory-idle": Target("memory warmed up, idle", "MB", 50, 40),
    "memory-burst": Target("memory after a burst turn", "MB", 70, 55),
    "idle-cpu": Target("processor time of one idle second", "ms"),
    "eof-idle": Target("end of input -> exit, idle", "s", 1, 0.3),
    "list-first": Target("first page of many sessions, cache present, new process", "ms", 150, 60),
    "list-later": Target("first page of many sessions, later", "ms", 30, 10),
    "list-missing": Target("first page of many sessions, cache missing", "ms", 5000, 2000),
    "load": Target("session/load -> last update of 5,000 messages", "ms", 700, 400),
    "load-long": Target("session/load -> last update of 10,000 messages", "ms", 2000, 1000),
    "open": Target("session/resume of 100,000 events", "ms", 1000, 500),
    "open-memory": Target("memory with 100,000 events open", "MB", 150, 100),
    "open-huge": Target("session/resume of 1,000,000 events", "ms", 10_000, 5000),
    "open-huge-memory": Target("memory with 1,000,000 events open", "MB", 600, 400),
    "tool-trip": Target("one tool round trip (read a file), announced -> next words", "ms", 15, 8),
    "confined": Target("`true` through the whole path, to a bare bubblewrap", "ratio", 4, 3),
    "grep": Target("grep over many files, complete, to ripgrep", "ratio", 1.5, 1.2),
    "page": Target("first page of a file of 100 MB", "ms", 50, 25),
    "flood": Target("memory that a gigabyte of output costs", "MiB", 4, 2),
    "append-work": Target("work from append to the sync, and a bare write and sync, to the latter", "ratio", 1.5, 1.2),
    "append-flushed": Target("append to flushed, to a bare write and sync of the same bytes", "ratio", 2.5, 1.5),
    "append-memory": Target("append in memory, to json.dumps of the event", "ratio", 1.2, 1.0),
    "append-late": Target("processor time of the last of 10,000 batches, to the first", "ratio", 1.1, 1.05),
    "pre-step": Target("look at the window before a step in a session of 5,000 nodes, to one of 50", "ratio", 10, 2),
    "eof-turn": Target("end of input -> exit, in mid-turn", "s", 1, 0.3),
}


def middle(target: Target, measured: Sequence[float], floor: Sequence[float] | None = None) -> Figure:
    """Return the median of the rounds, noting the best: what a busy neighbour adds is never in that one."""
    best = max(measured) if target.more else min(measured)
    return Figure(target, median(measured), median(floor) if floor else None, f"best {_number(best)}")


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value that `share` percent of them do not exceed."""
    return values[0] if len(values) == 1 else quantiles(values, n=100, method="inclusive")[share - 1]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table, one row each."""
    rows = [
        ("figure", "unit", "must", "goal", "measured", "floor", "verdict", "note"),
        *(
            (
                figure.target.name,
                figure.target.unit,
                _bound(figure.target, figure.target.must),
                _bound(figure.target, figure.target.goal),
                _number(figure.measured),
                _number(figure.floor),
                figure.verdict,
                figure.note,
            )
            for figure in figures
        ),
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _bound(target: Target, value: float | None) -> str:
    return "" if value is None else f"{'>=' if target.more else '<='} {_number(value)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
