"""What a conversation's surroundings are at the moment: the day, and what is checked out. Reads two small files."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from acp_server.app.instructions import project_root

_HEAD_BYTES: Final = 1024


def day(now_ms: Callable[[], int]) -> str:
    """Return the day, which changes once a day: a time of day would be told anew in every step."""
    return f"{datetime.fromtimestamp(now_ms() / 1000, UTC):%Y-%m-%d} (UTC)"


def checked_out(cwd: str | None) -> str | None:
    """Return the branch or the commit that is checked out, None outside of a repository."""
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
    if head.startswith("ref: refs/heads/"):
        return f"branch {head.removeprefix('ref: refs/heads/')}"
    return f"commit {head[:12]}" if head else None


def _line(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - one call a step
        return file.read(_HEAD_BYTES).decode(errors="ignore").strip()
