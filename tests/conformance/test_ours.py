"""This repository's server meets every clause that the kit judges."""

from __future__ import annotations

from pathlib import Path

from tests.cases import names
from tests.conformance import run
from tests.conformance.__main__ import OURS
from tests.conformance.kit import Options
from tests.support import launch

JOBS = 4
SLOW = {"T-16"}
"""What depends on how busy the machine is; `python -m tests.bench startup` measures it."""
NOT_JUDGED = {"T-65", "F-05", "TM-04"}
"""Clauses that say something of agents that are not like ours."""


def test_every_clause_holds(tmp_path: Path) -> None:
    options = Options(launch.COMMAND, model_env=OURS, names=names.OURS, sign_in="demo", seconds=60.0, patience=15.0)
    wanted = [check for check in run.chosen([]) if check.id not in SLOW]
    verdicts = run.side_by_side(options, tmp_path, wanted, JOBS)
    broken = {v.check.id: v.reason for v in verdicts if v.word in {"FAIL", "NOT MET"}}
    assert broken == {}
    skipped = {v.check.id: v.reason for v in verdicts if v.word == "SKIP"}
    assert {ident: why for ident, why in skipped.items() if ident not in NOT_JUDGED} == {}
