"""Git repositories of a workspace: what in them is protected and what git needs outside (docs/sandbox.md, G-1 to G-5).

Owns reading `.git` files and finding nested repositories, both bounded. A workspace that is a linked worktree gets its
repository's common directory only when that directory names the workspace in turn: a `.git` file is the workspace's
own text and could name anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from acp_server.sandbox.lists import INSTALLED

NESTED_DEPTH: Final = 3
FOLDERS_LIMIT: Final = 4_000
MODULES_LIMIT: Final = 256
_READ_LIMIT: Final = 4_096


def git_file_target(path: str) -> str | None:
    """Return the canonical directory that a `.git` file names, or None when it names none."""
    text = _first_line(path)
    if text is None or not text.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(path), text.removeprefix("gitdir:").strip()))


def common_directory(workspace: str) -> str | None:
    """Return the repository of a linked worktree, or None when the workspace is none or the repository denies it."""
    own = os.path.join(workspace, ".git")
    private = git_file_target(own) if os.path.isfile(own) and not os.path.islink(own) else None
    if private is None or os.path.basename(os.path.dirname(private)) != "worktrees":
        return None
    back = _first_line(os.path.join(private, "gitdir"))
    common = os.path.dirname(os.path.dirname(private))
    named = _first_line(os.path.join(private, "commondir"))
    if back is None or named is None or os.path.realpath(os.path.join(private, back)) != own:
        return None
    return common if os.path.realpath(os.path.join(private, named)) == common else None


def nested_repositories(workspace: str) -> Iterator[str]:
    """Yield the paths of `.git`, files and directories, in folders of a workspace, NESTED_DEPTH levels down."""
    level, seen = [workspace], 0
    for _ in range(NESTED_DEPTH):
        below: list[str] = []
        for folder in level:
            for entry in _folders(folder):
                seen += 1
                if seen > FOLDERS_LIMIT:
                    return
                below.append(entry)
                found = f"{entry}/.git"
                if os.path.lexists(found):
                    yield found
        level = below


def module_directories(repository: str) -> Iterator[str]:
    """Yield the directories of a repository's submodules; their names may hold slashes."""
    waiting, found = [f"{repository}/modules"], 0
    while waiting and found < MODULES_LIMIT:
        folder = waiting.pop()
        for entry in _folders(folder, hidden=True):
            if os.path.lexists(f"{entry}/HEAD"):
                found += 1
                yield entry
                waiting.append(f"{entry}/modules")
            else:
                waiting.append(entry)


def worktree_directories(repository: str) -> list[str]:
    """Return the private directories of a repository's linked worktrees."""
    return _folders(f"{repository}/worktrees", hidden=True)[:MODULES_LIMIT]


def _folders(path: str, *, hidden: bool = False) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.path
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and entry.name not in INSTALLED
                and (hidden or not entry.name.startswith("."))
            )
    except OSError:
        return []


def _first_line(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            text = os.fsdecode(file.read(_READ_LIMIT)).split("\n")[0].rstrip("\r")
    except OSError:
        return None
    return None if "\0" in text else text
