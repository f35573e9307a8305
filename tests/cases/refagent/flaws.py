"""The ways in which the agent can be made wrong, each of which some case has to notice."""

from __future__ import annotations

from typing import TypeAlias

Flaws: TypeAlias = frozenset[str]

FLAWS = {
    "twice": "a prompt is answered twice",
    "late": "an update follows the answer",
    "array": "an array ends the process",
    "ids": "a number comes back as text",
    "stdout": "it prints, and lets commands print, to stdout",
    "tail": "the last line has no LF",
    "child": "commands are left running",
    "cancel": "cancel is ignored",
    "afterTool": "text after a tool call is not shown",
    "replay": "tool calls are left out of the replay",
    "orphan": "tool results are left out of requests",
    "torn": "records are appended below a torn one",
    "outside": "a file is written beside the project",
    "swallow": "an error of the model ends the turn without a word",
    "clock": "the system message tells the time",
    "grow": "compaction makes the conversation longer",
    "deaf": "it never compacts",
    "lf": "CRLF files are written with LF",
    "slow": "files are written in pieces",
    "again": "a request is repeated after its text was shown",
    "useless": "a request is repeated when that is of no use",
    "hasty": "Retry-After is not waited for",
}


def read(words: list[str]) -> Flaws:
    """Return the flaws that `--break A,B` names; raise ValueError for one that is not known."""
    named = frozenset(words[words.index("--break") + 1].split(",")) if "--break" in words else frozenset()
    if named - FLAWS.keys():
        raise ValueError(f"there is no flaw {sorted(named - FLAWS.keys())}")
    return named
