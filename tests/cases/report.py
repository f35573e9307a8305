"""One line a case, a summary, an exit status."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.support.schema import Validator
from tests.support.trace import Obj

SHOWN = 4
"""As many faults of one case are shown."""


class SkipError(Exception):
    """The case cannot be run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case; `notes` is its traffic, when that was asked for."""

    case: str
    word: Literal["pass", "fail", "skip"]
    why: str = ""
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        return f"{self.case} {self.word}" + (f": {self.why}" if self.why else "")


RunOne = Callable[[Obj, list[str]], list[str]]
"""Runs a case, adds to its notes, returns what is wrong; raises SkipError."""


def load(folder: Path, only: Sequence[str] = ()) -> list[Obj]:
    """Return the sidecars of a folder by name, or those with these ids."""
    found: list[Obj] = [json.loads(p.read_text("utf-8")) for p in sorted(folder.glob("*.json"))]
    return [case for case in found if not only or case["id"] in only]


def judge_one(case: Obj, run: RunOne, shape: Validator) -> Outcome:
    """Return what becomes of one case. A misspelt key and a fault of the runner are failures."""
    notes: list[str] = []
    try:
        wrong = shape(case) or run(case, notes)
    except SkipError as reason:
        return Outcome(case["id"], "skip", str(reason), notes)
    except Exception as error:
        return Outcome(case["id"], "fail", f"the runner broke: {type(error).__name__}: {error}", notes)
    if not wrong:
        return Outcome(case["id"], "pass", notes=notes)
    return Outcome(case["id"], "fail", " | ".join(dict.fromkeys(wrong[:SHOWN])), notes)


def run_all(cases: Iterable[Obj], run: RunOne, shape: Validator, jobs: int) -> int:
    """Print the lines as they come, in order; return 0 when none failed and there was one to run."""
    count: Counter[str] = Counter()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for outcome in pool.map(lambda case: judge_one(case, run, shape), cases):
            count[outcome.word] += 1
            print(outcome.line(), *outcome.notes, sep="\n", flush=True)
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped", flush=True)
    if not count:
        print("no cases found", file=sys.stderr)
    return 1 if count["fail"] or not count else 0
