"""Runs checks on an agent, one after the other, and turns what they raise into verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.conformance import checks
from tests.conformance.check import CHECKS, Check, FaultError, NotJudgedError, Verdict, order
from tests.conformance.kit import Kit
from tests.support.client import BrokenError


def chosen(only: Sequence[str]) -> list[Check]:
    """Return the checks in the order in which they run: those that read all traces come last."""
    always = {ident for ident, check in CHECKS.items() if check.judge.__module__ in checks.LAST}
    wanted = [CHECKS[ident] for ident in CHECKS if not only or ident in only]
    return sorted(wanted, key=lambda check: (check.id in always, order(check.id)))


def judged(kit: Kit, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Give the verdict of each check as it comes."""
    for check in wanted:
        yield verdict(kit, check)


def verdict(kit: Kit, check: Check) -> Verdict:
    begun = len(kit.clients)
    try:
        check.judge(kit)
    except NotJudgedError as why:
        kit.excuse(begun)
        return Verdict(check, "SKIP", str(why))
    except (FaultError, BrokenError) as why:
        kit.excuse(begun)
        kit.drop()
        return Verdict(check, "FAIL" if check.level == "MUST" else "NOT MET", str(why))
    return Verdict(check, "PASS")
