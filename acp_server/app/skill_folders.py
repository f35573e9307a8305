"""Skills and prompt files on disk: which are read, how much of them, and when they are read again (docs/skills.md, K).

Owns the bounds and that a folder is read again only when a name, a time or a size in it changed. Regular files only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Generic, TypeAlias, TypeVar

from acp_server.app.skill_text import PromptFile, Skill, prompt_of, skill_of
from acp_server.base.values import value

FILE_BYTES: Final = 64 * 1024
MOST_FILES: Final = 100
SKILL_FILE: Final = "SKILL.md"
Stamp: TypeAlias = tuple[str, int, int, int, int]
T = TypeVar("T")


@value
class Found:
    """A file that was found: its name without ending or its folder's name, its real path, and its stamp."""

    name: str
    path: str
    stamp: Stamp


class Folder(Generic[T]):
    """What one folder holds, read again when it has changed."""

    def __init__(self, find: Callable[[], Iterator[Found]], make: Callable[[Found, str], T | None]) -> None:
        self._find = find
        self._make = make
        self._stamps: tuple[Stamp, ...] = ()
        self.items: tuple[T, ...] = ()

    def look(self) -> tuple[T, ...]:
        """Return what it holds at this moment; the same tuple until something changes."""
        found = sorted(self._find(), key=lambda found: found.name)[:MOST_FILES]
        stamps = tuple(each.stamp for each in found)
        if stamps != self._stamps:
            self._stamps = stamps
            made = (self._make(each, text) for each in found if (text := read_text(each.path)) is not None)
            self.items = tuple(item for item in made if item is not None)
        return self.items


def skill_folder(path: str, *, within: str | None = None) -> Folder[Skill]:
    """Return the skills below a folder; with `within`, those alone that really lie there, as a project's."""

    def make(found: Found, text: str) -> Skill | None:
        return skill_of(text, found.name, found.path, project=within is not None)

    return Folder(lambda: _skill_files(path, within), make)


def prompt_folder(path: str) -> Folder[PromptFile]:
    """Return the prompts `NAME.md` of a folder."""
    return Folder(lambda: files_in(path, ".md"), lambda found, text: prompt_of(text, found.name))


def read_text(path: str) -> str | None:
    """Return the beginning of a file, None where it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a few a session
            return file.read(FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, in order; none for a folder that is not there."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - asked in each step
    except OSError:
        return []


def files_in(folder: str, ending: str) -> Iterator[Found]:
    """Iterate over the regular files of a folder whose names end so, by name without the ending."""
    for name in names_in(folder):
        stamp = stamp_of(f"{folder}/{name}") if name.endswith(ending) else None
        if stamp is not None:
            yield Found(name.removesuffix(ending), f"{folder}/{name}", stamp)


def stamp_of(path: str) -> Stamp | None:
    """Return what changes with a regular file, None for anything else."""
    with suppress(OSError):
        facts = os.stat(path)  # noqa: PTH116 - asked in each step
        if stat.S_ISREG(facts.st_mode):
            return path, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino
    return None


def is_within(path: str, folder: str) -> bool:
    """Return whether a real path lies in a folder."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _skill_files(folder: str, within: str | None) -> Iterator[Found]:
    for name in names_in(folder):
        path = os.path.realpath(f"{folder}/{name}/{SKILL_FILE}")
        if within is not None and not is_within(path, within):
            continue
        stamp = stamp_of(path)
        if stamp is not None:
            yield Found(name, path, stamp)
