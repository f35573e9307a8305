"""What a language server says is wrong, as values, and as a model reads it. Pure.

Owns the bounds: how many problems are kept, how many are told, and how long each may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from acp_server.base.values import value
from acp_server.tools.bounds import one_line, take_lines

Severity: TypeAlias = Literal["error", "warning", "information", "hint"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")
MOST_KEPT: Final = 1000
"""Problems of one file that are looked at."""
_MESSAGE: Final = 300
_CODE: Final = 60


@value
class Problem:
    """One diagnostic. `line` and `character` count from 1, the latter in characters of the text."""

    line: int
    character: int
    severity: Severity
    message: str
    source: str
    code: str = ""


@value
class Found:
    """What one server found in a file; `silent` says in its place why it said nothing."""

    server: str
    problems: tuple[Problem, ...] = ()
    silent: str | None = None
    slow: bool = False
    """Whether it may still speak: its time was over, and it is not gone."""


def told(name: str, found: Sequence[Found], *, most_lines: int, most_bytes: int, hints: bool) -> str:
    """Return what is told of a file, the worst first; information and hints only when they are asked for."""
    worst = SEVERITIES if hints else SEVERITIES[:2]
    problems = sorted(
        {problem for one in found for problem in one.problems if problem.severity in worst},
        key=lambda problem: (SEVERITIES.index(problem.severity), problem.line, problem.character, problem.message),
    )
    answered = [one.server for one in found if one.silent is None]
    lines = []
    if answered:
        lines.append(f"Diagnostics of {name} ({', '.join(answered)}): {_counts(problems, worst)}")
    taken = take_lines((_line(name, problem) for problem in problems), most_lines, most_bytes)
    lines += taken.lines
    if taken.more:
        lines.append(f"… {len(problems) - len(taken.lines):,} more")
    lines += [f"[{one.server}: {one.silent}]" for one in found if one.silent is not None]
    return "\n".join(lines)


def _counts(problems: Sequence[Problem], severities: Sequence[Severity]) -> str:
    words = []
    for severity in severities:
        count = sum(problem.severity == severity for problem in problems)
        if count:
            words.append(f"{count:,} {severity}{'s' if count > 1 and severity != 'information' else ''}")
    return ", ".join(words) or "no errors or warnings"


def _line(name: str, problem: Problem) -> str:
    code = f" {one_line(problem.code, _CODE)}" if problem.code else ""
    place = f"{name}:{problem.line}:{problem.character}"
    message = one_line(problem.message, _MESSAGE)
    return f"{place} {problem.severity}: {message} [{one_line(problem.source, _CODE)}{code}]"
