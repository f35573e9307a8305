"""The stages of the test command as data, and how each one's output is counted."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 1200
"""What a stage may take on a slow machine; all together stay under thirty minutes on two cores."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many checks passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


Count = Callable[[int, str], Tally]


@dataclass(frozen=True, slots=True)
class Stage:
    """One command of the test command. `needs` are paths that have to exist: a stage that lost its files fails."""

    name: str
    argv: tuple[str, ...]
    count: Count
    needs: tuple[str, ...] = ()
    limit_seconds: int = LIMIT_SECONDS


def count_one(status: int, _: str) -> Tally:
    """Count the whole command as one check."""
    return Tally(passed=int(status == 0), failed=int(status != 0))


def count_pytest(status: int, output: str) -> Tally:
    """Count by pytest's closing line. Errors and unexpected passes are failures, expected failures are skips."""
    closing = next((line for line in reversed(output.splitlines()) if re.search(r" in [\d.]+s\b", line)), "")
    counts = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", closing)}
    return _honest(
        status,
        Tally(
            passed=counts.get("passed", 0),
            failed=sum(counts.get(word, 0) for word in ("failed", "error", "errors", "xpassed")),
            skipped=counts.get("skipped", 0) + counts.get("xfailed", 0),
        ),
    )


def count_cases(status: int, output: str) -> Tally:
    """Count the lines `ID pass`, `ID fail: why` and `ID skip: why` of a case runner.

    All may be skipped: a kind of case may need what the server does not have yet.
    """
    found = re.findall(r"^\S+ (pass|fail|skip)\b", output, re.MULTILINE)
    tally = Tally(found.count("pass"), found.count("fail"), found.count("skip"))
    return tally if status == 0 and tally.skipped else _honest(status, tally)


def _honest(status: int, tally: Tally) -> Tally:
    """A command that failed without naming a check, or that ran none, is a failure."""
    if tally.failed or (status == 0 and tally.passed):
        return tally
    return tally + Tally(failed=1)


def pytest(name: str, *places: str, plugins: tuple[str, ...] = (), workers: int = 1) -> Stage:
    """Return a stage that runs pytest on the folders or files with no plugin but the named ones.

    With several workers each of them takes whole files: most of an end-to-end test is waiting for a process.
    """
    wanted = (
        "pytest_asyncio.plugin",
        "_hypothesis_pytestplugin",
        *plugins,
        *(("xdist.plugin",) if workers > 1 else ()),
    )
    switches = tuple(word for plugin in wanted for word in ("-p", plugin))
    if workers > 1:
        switches += ("-n", str(workers), "--dist", "loadfile")
    argv = (sys.executable, "-m", "pytest", "-q", *switches, *places)
    return Stage(name, argv, count_pytest, places)


def cases(kind: str) -> Stage:
    """Return a stage that runs the cases of one kind against the installed command."""
    argv = (sys.executable, "-m", f"tests.cases.{kind}", "--cases", f"tests/cases/{kind}", "--jobs", "2")
    return Stage(f"cases-{kind}", argv, count_cases, (f"tests/cases/{kind}",))


_INSTALL = (
    "from tests.support import node, system_packages; "
    "node.modules(); node.modules(node.VSCODE); system_packages.install()"
)

STAGES: tuple[Stage, ...] = (
    Stage("lint", (sys.executable, "-m", "ruff", "check", "."), count_one),
    Stage("format", (sys.executable, "-m", "ruff", "format", "--check", "."), count_one),
    Stage("types", (sys.executable, "-m", "mypy"), count_one),
    Stage("packages", (sys.executable, "-c", _INSTALL), count_one),
    pytest("architecture", "tests/architecture"),
    pytest("unit", "tests/unit", "tests/support"),
    pytest("laws", "tests/laws"),
    pytest("contracts", "tests/contracts"),
    pytest("conformance", "tests/conformance"),
    pytest("e2e", "tests/e2e", workers=2),
    pytest("editors", "tests/editors"),
    pytest("lsp", "tests/e2e/test_pytest_lsp.py", plugins=("pytest_lsp",)),
    pytest("crash", "tests/crash"),
    pytest("fuzz", "tests/fuzz", workers=2),
    pytest("security", "tests/security"),
    pytest("bench", "tests/bench"),
    pytest("runners", "tests/cases"),
    cases("rpc"),
    cases("wire"),
    cases("edit"),
)
"""In order of cost: what is cheap and says most comes first."""
