"""What a person or a program reads of a judgement: a row a clause, then the sums."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from tests.conformance.check import Check, Level, Verdict, Word

LEVELS: tuple[Level, ...] = ("MUST", "SHOULD", "MAY")
WORDS: tuple[Word, ...] = ("PASS", "FAIL", "NOT MET", "SKIP")


def row(verdict: Verdict) -> str:
    check = verdict.check
    reason = " ".join(f" - {verdict.reason}".split()) if verdict.reason else ""
    return f"{check.id:<6} {check.level:<6} {verdict.word:<7} {check.says}{' ' + reason if reason else ''}"


def listing(checks: Sequence[Check]) -> str:
    return "\n".join(f"{check.id:<6} {check.level:<6} {check.says}" for check in checks)


def sums(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Return level -> word -> how many."""
    counted = Counter((verdict.check.level, verdict.word) for verdict in verdicts)
    return {level: {word: counted[level, word] for word in WORDS if counted[level, word]} for level in LEVELS}


def summary(verdicts: Sequence[Verdict]) -> str:
    lines = []
    for level, words in sums(verdicts).items():
        told = ", ".join(f"{count} {word}" for word, count in words.items()) or "none judged"
        lines.append(f"{level:<7}{told}")
    return "\n".join(lines)


def document(verdicts: Sequence[Verdict]) -> str:
    """Return the judgement as JSON."""
    rows = [
        {"id": v.check.id, "level": v.check.level, "word": v.word, "says": v.check.says, "reason": v.reason}
        for v in verdicts
    ]
    return json.dumps({"verdicts": rows, "sums": sums(verdicts)}, indent=1)


def status(verdicts: Sequence[Verdict]) -> int:
    """Return the exit code: 1 when a MUST is broken."""
    return int(any(verdict.word == "FAIL" for verdict in verdicts))
