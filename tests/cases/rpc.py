"""Runs the rpc cases: `python -m tests.cases.rpc`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cases import always, report
from tests.cases.options import Options, parser, read, refuse_what_is_lacking, shape, traffic
from tests.cases.place import Place
from tests.cases.predicates import judge
from tests.cases.steps import Run, StepError
from tests.support.llm_script import Script
from tests.support.mock_llm import MockLlm
from tests.support.process import left_behind
from tests.support.trace import Obj, Trace


def read_lines(path: Path) -> tuple[list[bytes], bool]:
    """Return the raw lines and whether the last one ends with LF."""
    raw = path.read_bytes()
    ended = raw.endswith(b"\n")
    return raw.split(b"\n")[:-1] if ended else raw.split(b"\n"), ended


def variants(case: Obj) -> list[Obj]:
    """Return the case once for each number in the `bytes` list of a damage step."""
    for n, step in enumerate(case["steps"]):
        sizes = step.get("damage", {}).get("bytes")
        if isinstance(sizes, list):
            steps = case["steps"]
            each = [{"damage": {**step["damage"], "bytes": size}} for size in sizes]
            return [{**case, "steps": [*steps[:n], one, *steps[n + 1 :]]} for one in each]
    return [case]


def run(case: Obj, folder: Path, options: Options, notes: list[str]) -> list[str]:
    """Return what is wrong with the first variant that fails."""
    refuse_what_is_lacking(case, options)
    lines, ended = read_lines(folder / case["lines"])
    if len(lines) != case["line_count"]:
        return [f"the file has {len(lines)} lines, not {case['line_count']}"]
    for variant in variants(case):
        wrong = _run_once({**variant, "last_line_ends": ended}, lines, options, notes)
        if wrong:
            return wrong
    return []


def _run_once(case: Obj, lines: list[bytes], options: Options, notes: list[str]) -> list[str]:
    place, trace = Place(case), Trace()
    mock = MockLlm(Script.of_case(case), options.names.call, trace.poke)
    one = Run(options.agent, case, lines, place, mock, trace)
    try:
        wrong = _judged(one, case, options)
        if options.verbose:
            notes += traffic(trace, mock.asked, [place.stderr(n) for n in range(1, one.proc + 1)])
        return wrong
    finally:
        one.agent.kill()
        mock.close()
        left_behind(place.mark, 0)
        if options.keep:
            notes.append(f"  kept: {place.root}")
        else:
            place.remove()


def _judged(one: Run, case: Obj, options: Options) -> list[str]:
    """Take the steps and judge; files, log and process are judged while all is as the steps left it."""
    expect, wrong = dict(case["expect"]), []
    codes = {"exit_code": expect.pop("exit_code")} if "exit_code" in expect else {}
    try:
        one.steps()
        one.settle()
    except StepError as why:
        wrong.append(str(why))
    one.code_after_steps = one.agent.popen.poll()
    wrong += [] if wrong else judge(one, expect)
    ended = one.agent.end()
    wrong += [ended] if ended and not wrong else []
    wrong += [] if wrong else judge(one, codes)
    if one.agent.tail and one.proc not in one.trace.open_until:
        wrong.append(f"stdout ends without LF: {one.agent.tail[:60]!r}")
    wrong += one.wrong + always.broken(one.trace, one.mock.asked, options)
    wrong += [f"left running: {words[:100]}" for words in left_behind(one.place.mark)]
    return wrong + [f"changed outside the project: {path}" for path in one.place.strayed()]


def main(words: Sequence[str] | None = None) -> int:
    given = parser("rpc").parse_args(words)
    options, folder = read(given), given.cases
    cases = report.load(folder, given.only)
    judge_case = shape(folder, "rpc")
    return report.run_all(cases, lambda case, notes: run(case, folder, options, notes), judge_case, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
