"""What a conversation's surroundings are at the moment: the day, and what is checked out. Reads two small files."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from acp_server.app.instructions import project_root

_HEAD_BYTES: Final = 1024
_UNDER_WAY: Final = (
    ("MERGE_HEAD", "a merge is under way"),
    ("rebase-merge", "a rebase is under way"),
    ("rebase-apply", "a rebase is under way"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is under way"),
    ("REVERT_HEAD", "a revert is under way"),
    ("BISECT_LOG", "a bisection is under way"),
)
"""Entries of a repository's own folder, and what they mean."""


def day(now_ms: Callable[[], int]) -> str:
    """Return the day, which changes once a day: a time of day would be told anew in every step."""
    return f"{datetime.fromtimestamp(now_ms() / 1000, UTC):%Y-%m-%d} (UTC)"


def checked_out(cwd: str | None) -> str | None:
    """Return the branch or the commit that is checked out and what is under way, None outside of a repository.

    Git itself is not asked: what a repository's own configuration names would run.
    """
    if cwd is None:
        return None
    git = f"{project_root(cwd)}/.git"
    try:
        if os.path.isfile(git):  # noqa: PTH113 - a worktree's points elsewhere
            words = _line(git)
            git = os.path.join(os.path.dirname(git), words.removeprefix("gitdir: "))  # noqa: PTH118, PTH120 - by its text
        head = _line(f"{git}/HEAD")
    except OSError:
        return None
    at = _at(head)
    under_way = [words for name, words in _UNDER_WAY if os.path.lexists(f"{git}/{name}")]
    return ", ".join([at, *under_way]) if at else None


def _at(head: str) -> str:
    if head.startswith("ref: refs/heads/"):
        return f"branch {head.removeprefix('ref: refs/heads/')}"
    return f"commit {head[:12]}" if head else ""


def _line(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - one call a step
        return file.read(_HEAD_BYTES).decode(errors="ignore").strip()
