"""Proves the case runners: `python -m tests.cases.selftest`.

A sound agent has to pass; then each way to make it wrong has to fail the case named for it, and nothing else may.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.cases.refagent.flaws import FLAWS
from tests.cases.report import load
from tests.support.launch import REPOSITORY

AGENT = f"/usr/bin/env PYTHONPATH={REPOSITORY} {sys.executable} -m tests.cases.refagent"
NEEDS = "core,chat,log,tools,consent,compaction,client-fs,auth"
SECONDS = 240

CAUGHT = (
    ("rpc", "twice", "R001"),
    ("rpc", "late", "R001"),
    ("rpc", "array", "R012"),
    ("rpc", "ids", "R014"),
    ("rpc", "stdout", "R045"),
    ("rpc", "tail", "R016"),
    ("rpc", "child", "R055"),
    ("rpc", "cancel", "R024"),
    ("rpc", "afterTool", "R033"),
    ("rpc", "replay", "R039"),
    ("rpc", "orphan", "R036"),
    ("rpc", "torn", "R040"),
    ("rpc", "outside", "R018"),
    ("rpc", "swallow", "R060"),
    ("rpc", "clock", "R065"),
    ("rpc", "grow", "R069"),
    ("rpc", "deaf", "R070"),
    ("rpc", "deaf", "R074"),
    ("rpc", "deaf", "R077"),
    ("edit", "lf", "E001"),
    ("edit", "slow", "E046"),
    ("wire", "again", "W011"),
    ("wire", "useless", "W050"),
    ("wire", "hasty", "W047"),
)
"""Folder, flaw, and the case that notices it."""

PLAIN_BELOW = "W300"
"""The agent is tried with wire cases below this id: further ones are vendors' oddities, of which it knows none."""

TOO_HARD = frozenset({"W016", "W020", "W022", "W027", "W030", "W060", "W061"})
"""Wire cases that the agent's plain decoder does not master, and that the runner therefore has to fail."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of a command printed: the word for each case, and its exit code."""

    code: int
    words: dict[str, str]
    text: str

    @property
    def failed(self) -> set[str]:
        return {case for case, word in self.words.items() if word == "fail"}


def play(folder: str, agent: str, *more: str) -> Report:
    """Run one folder of cases against an agent."""
    command = [sys.executable, "-m", f"tests.cases.{folder}", "--agent", agent, "--needs", NEEDS, *more]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS, check=False)
    lines = [line.split(":")[0].split() for line in done.stdout.splitlines() if not line.startswith(" ")]
    words = {line[0]: line[1] for line in lines if len(line) == 2}
    return Report(done.returncode, words, done.stdout + done.stderr)


def sound(folder: str, jobs: int) -> str:
    """Return what is wrong with the runs of the sound agent, or nothing."""
    report = play(folder, AGENT, "--jobs", str(jobs), *(_plain() if folder == "wire" else ()))
    wanted = TOO_HARD if folder == "wire" else set()
    if report.failed != wanted or "pass" not in report.words.values():
        return f"{folder}: the sound agent fails {sorted(report.failed)}, not {sorted(wanted)}:\n{report.text}"
    return ""


def _plain() -> list[str]:
    cases = load(REPOSITORY / "tests" / "cases" / "wire")
    return [word for case in cases if case["id"] < PLAIN_BELOW for word in ("--only", case["id"])]


def caught(folder: str, flaw: str, case: str) -> str:
    """Return what is wrong with how a flaw is noticed, or nothing."""
    report = play(folder, f"{AGENT} --break {flaw}", "--only", case)
    if report.code == 1 and report.failed == {case}:
        return ""
    return f"{flaw}: {case} does not notice it:\n{report.text}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.cases.selftest", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    jobs = parser.parse_args(words).jobs
    unused = sorted(FLAWS.keys() - {flaw for _, flaw, _ in CAUGHT})
    wrong = [f"no case is named for the flaw {flaw}" for flaw in unused]
    for folder in ("rpc", "edit", "wire"):
        said = sound(folder, jobs)
        print(said or f"{folder}: as it should be", flush=True)
        wrong += [said] if said else []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for entry, said in zip(CAUGHT, pool.map(lambda one: caught(*one), CAUGHT), strict=True):
            print(said or f"{entry[1]}: caught by {entry[2]}", flush=True)
            wrong += [said] if said else []
    print(f"{len(wrong)} wrong" if wrong else "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
