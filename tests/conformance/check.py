"""What a check is: one clause, its level, and a function that judges an agent by it.

A check returns when the clause holds, raises FaultError with what the agent did instead, and NotJudgedError when it
cannot be told from outside: the agent does not advertise it, has no scripted model, never did anything of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from tests.conformance.kit import Kit

Level: TypeAlias = Literal["MUST", "SHOULD", "MAY"]
Word: TypeAlias = Literal["PASS", "FAIL", "NOT MET", "SKIP"]
Judge: TypeAlias = "Callable[[Kit], None]"

REASON_CHARACTERS = 300


class FaultError(Exception):
    """The agent breaks the clause; the text says how."""


class NotJudgedError(Exception):
    """The clause cannot be judged with this agent; the text says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """A clause of docs/protocol, in a few words, and its judge."""

    id: str
    level: Level
    says: str
    judge: Judge


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one check."""

    check: Check
    word: Word
    reason: str = ""


CHECKS: dict[str, Check] = {}


def check(ident: str, level: Level, says: str) -> Callable[[Judge], Judge]:
    """Enter the function as the judge of that clause."""

    def enter(judge: Judge) -> Judge:
        if ident in CHECKS:
            raise ValueError(f"{ident} has two judges")
        CHECKS[ident] = Check(ident, level, says, judge)
        return judge

    return enter


def must(ident: str, says: str) -> Callable[[Judge], Judge]:
    return check(ident, "MUST", says)


def should(ident: str, says: str) -> Callable[[Judge], Judge]:
    return check(ident, "SHOULD", says)


def may(ident: str, says: str) -> Callable[[Judge], Judge]:
    return check(ident, "MAY", says)


def expect(holds: object, why: str) -> None:
    """Raise FaultError unless it holds."""
    if not holds:
        raise FaultError(why[:REASON_CHARACTERS])


def no_faults(faults: Iterable[str]) -> None:
    """Raise FaultError with the first fault and how many more there are."""
    found = list(dict.fromkeys(faults))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise FaultError(found[0][:REASON_CHARACTERS] + more)


def code_of(answer: dict[str, Any]) -> object:
    """Return the error code of an answer, or "result"."""
    error = answer.get("error")
    return error.get("code") if isinstance(error, dict) else "result"


def order(ident: str) -> tuple[str, int]:
    """Return what sorts ids by letters and number."""
    letters, number = ident.split("-")
    return letters, int(number)
