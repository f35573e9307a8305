"""Runs checks on an agent and turns what they raise into verdicts; several kits may do so side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from tests.conformance import checks
from tests.conformance.check import CHECKS, Check, FaultError, NotJudgedError, Verdict, Word, order
from tests.conformance.kit import Kit, Options
from tests.support.client import BrokenError

WORST_FIRST: tuple[Word, ...] = ("FAIL", "NOT MET", "PASS", "SKIP")


def is_last(check: Check) -> bool:
    """Return whether the check reads the traces of all others."""
    return check.judge.__module__ in checks.LAST


def chosen(only: Sequence[str]) -> list[Check]:
    """Return the checks in the order in which they run: those that read all traces come last."""
    wanted = [CHECKS[ident] for ident in CHECKS if not only or ident in only]
    return sorted(wanted, key=lambda check: (is_last(check), order(check.id)))


def judged(kit: Kit, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Give the verdict of each check as it comes."""
    for check in wanted:
        yield verdict(kit, check)


def verdict(kit: Kit, check: Check) -> Verdict:
    """Return what comes of one check; the processes that it started are ended."""
    begun = len(kit.clients)
    try:
        return _verdict(kit, check, begun)
    finally:
        kit.end(begun)


def _verdict(kit: Kit, check: Check, begun: int) -> Verdict:
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


def side_by_side(options: Options, root: Path, wanted: Sequence[Check], jobs: int) -> list[Verdict]:
    """Judge by so many kits at once, a subject each; what reads all traces each of them judges: the worst counts."""
    by_module = sorted((c for c in wanted if not is_last(c)), key=lambda c: c.judge.__module__)
    shares = [list(share) for _, share in groupby(by_module, key=lambda c: c.judge.__module__)]
    last = [check for check in wanted if is_last(check)]

    def share(checks_: list[Check]) -> list[Verdict]:
        kit = Kit(options, root / checks_[0].judge.__module__)
        try:
            return list(judged(kit, [*checks_, *last]))
        finally:
            kit.close()

    with ThreadPoolExecutor(jobs) as pool:
        found = [one for verdicts in pool.map(share, sorted(shares, key=len, reverse=True)) for one in verdicts]
    return worst(found)


def worst(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return one verdict a clause, the worst of it."""
    ranked = sorted(verdicts, key=lambda v: (is_last(v.check), order(v.check.id), WORST_FIRST.index(v.word)))
    return [next(same) for _, same in groupby(ranked, key=lambda v: v.check.id)]
