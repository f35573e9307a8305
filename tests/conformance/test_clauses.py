"""Every clause of docs/protocol is proven, by a check of the kit or by a test that is there, and nothing else is."""

from __future__ import annotations

import re

from tests.conformance import checks
from tests.conformance.check import CHECKS
from tests.conformance.test_ours import NOT_JUDGED
from tests.support.launch import REPOSITORY

PAGES = REPOSITORY / "docs" / "protocol"
CLAUSE = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* (MUST|SHOULD|MAY)(, not met)?\. (.+)$", re.MULTILINE)
PROOF = re.compile(
    r"^\| ([A-Z]+-\d+) \| (?:\*kit\* ([A-Z]+-\d+)|`(tests/[a-z0-9_/]+\.py)` (test_\w+)) \|$", re.MULTILINE
)
NOT_MET_AT_MOST = 10


def clauses() -> list[tuple[str, str, bool]]:
    """Return (id, level, whether it is met) of each clause, page by page."""
    pages = [page.read_text("utf-8") for page in sorted(PAGES.glob("*.md"))]
    return [(m[1], m[2], not m[3]) for page in pages for m in CLAUSE.finditer(page)]


def proofs() -> dict[str, tuple[str, str, str]]:
    """Return clause -> the kit's id, or file and name of a test."""
    found = PROOF.findall((PAGES / "proofs.md").read_text("utf-8"))
    return {ident: (kit, file, name) for ident, kit, file, name in found}


LEVELS = {ident: level for ident, level, _ in clauses()}


def test_each_clause_is_stated_once() -> None:
    found = [ident for ident, _, _ in clauses()]
    assert sorted(found) == sorted(set(found))
    lines = [line for page in PAGES.glob("*.md") for line in page.read_text("utf-8").splitlines()]
    assert len([line for line in lines if line.startswith("- **")]) == len(found)


def test_the_kit_judges_clauses_that_exist_at_their_level() -> None:
    assert checks.ALL
    assert {ident: check.level for ident, check in CHECKS.items() if LEVELS.get(ident) != check.level} == {}


def test_each_clause_is_proven() -> None:
    unmet = {ident for ident, _, met in clauses() if not met}
    proven = (CHECKS.keys() - NOT_JUDGED) | proofs().keys() | unmet
    assert sorted(LEVELS.keys() - proven) == []
    assert sorted(proofs().keys() - LEVELS.keys()) == []


def test_each_proof_is_there() -> None:
    missing = [
        (ident, kit or name)
        for ident, (kit, file, name) in proofs().items()
        if not (kit in CHECKS if kit else f"def {name}(" in (REPOSITORY / file).read_text("utf-8"))
    ]
    assert missing == []


def test_all_that_must_be_is_met_and_little_that_should_be_is_not() -> None:
    unmet = [(ident, level) for ident, level, met in clauses() if not met]
    assert [ident for ident, level in unmet if level == "MUST"] == []
    assert len(unmet) <= NOT_MET_AT_MOST
