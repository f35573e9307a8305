"""The kit tells agents apart: a sound one passes, each way to break one is caught by the clause named for it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.conformance import run
from tests.conformance.agent.flaws import FLAWS
from tests.conformance.check import CHECKS, Verdict
from tests.conformance.kit import Kit, Options
from tests.support.launch import REPOSITORY

MODEL = {"OPENAI_BASE_URL": "{url}", "OPENAI_API_KEY": "{key}"}
JOBS = 4
FLAW_SECONDS = 20.0
"""How long an answer may take that a broken agent does not give."""
NOT_JUDGED = {"A-02", "F-05", "S-11", "T-65", "TC-13", "TM-04", "U-08", "U-09", "U-10"}
"""What the agent has none of."""
SLOW = {"T-16"}
"""What depends on how busy the machine is."""


def options(*words: str) -> Options:
    command = ("/usr/bin/env", f"PYTHONPATH={REPOSITORY}", sys.executable, "-m", "tests.conformance.agent", *words)
    return Options(command, model_env=MODEL, sign_in="demo", seconds=60.0, patience=15.0)


def test_a_sound_agent_meets_every_clause(tmp_path: Path) -> None:
    wanted = [check for check in run.chosen([]) if check.id not in SLOW]
    verdicts = run.side_by_side(options(), tmp_path, wanted, JOBS)
    broken = {v.check.id: v.reason for v in verdicts if v.word in {"FAIL", "NOT MET"}}
    assert broken == {}
    assert {v.check.id for v in verdicts if v.word == "SKIP"} == NOT_JUDGED


def test_each_flaw_is_caught_by_its_clause(tmp_path: Path) -> None:
    def judged(flaw: str) -> Verdict:
        kit = Kit(replace(options("--break", flaw), seconds=FLAW_SECONDS), tmp_path / flaw)
        try:
            return run.verdict(kit, CHECKS[FLAWS[flaw]])
        finally:
            kit.close()

    with ThreadPoolExecutor(JOBS) as pool:
        words = dict(zip(FLAWS, pool.map(judged, FLAWS), strict=True))
    missed = {flaw: (v.check.id, v.word, v.reason) for flaw, v in words.items() if v.word not in {"FAIL", "NOT MET"}}
    assert missed == {}
