"""What a workspace would have the server do by itself: its skills, hooks and presets, with one digest of their content.

Owns which places of a workspace are looked at (docs/skills.md, section T) and that nothing is used of a content that
was not digested. Reads regular files that really lie in the workspace; runs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, Final

from acp_server.app.skill_folders import Stamp, is_within, skill_folder, stamp_of
from acp_server.app.skill_text import Skill
from acp_server.base.values import value

SKILL_PLACES: Final = (".agents/skills", ".claude/skills")
PRESET_PLACE: Final = ".agents/presets"
PRESET_END: Final = ".toml"
HOOK_PLACES: Final = (".agents/hooks.json", ".claude/settings.json")
MOST_FILES: Final = 500
MOST_BYTES: Final = 8 << 20


@value
class Brought:
    """What a workspace brings; `digest` is empty where it is too much to be trusted, `hooks` are hook settings.

    `presets` are files, by their paths, as they were digested.
    """

    skills: tuple[Skill, ...] = ()
    hooks: tuple[dict[str, Any], ...] = ()
    presets: tuple[tuple[str, bytes], ...] = ()
    digest: str = ""

    def __bool__(self) -> bool:
        """Return whether there is anything."""
        return bool(self.skills or self.hooks or self.presets)


NOTHING: Final = Brought()


class Project:
    """One workspace, by its real path; its content is digested again when a name, a time or a size has changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._stamps: tuple[Stamp, ...] = ()
        self._brought = NOTHING

    def look(self) -> Brought:
        """Return what the workspace brings at this moment."""
        stamps = tuple(sorted(self._files()))
        if stamps != self._stamps:
            self._stamps, self._brought = stamps, self._read(stamps) if stamps else NOTHING
        return self._brought

    def _files(self) -> Iterator[Stamp]:
        """Iterate over all files that count, one more than may be at most."""
        count = 0
        places = [f"{self._root}/{place}" for place in HOOK_PLACES]
        for path in (*places, *self._below()):
            stamp = stamp_of(path) if is_within(os.path.realpath(path), self._root) else None
            if stamp is not None:
                yield stamp
                count += 1
            if count > MOST_FILES:
                return

    def _below(self) -> Iterator[str]:
        for place in (*SKILL_PLACES, PRESET_PLACE):
            for folder, folders, names in os.walk(f"{self._root}/{place}"):
                folders.sort()
                yield from (f"{folder}/{name}" for name in sorted(names))

    def _read(self, stamps: tuple[Stamp, ...]) -> Brought:
        """Return what the files say; hooks and presets are the very bytes that were digested."""
        digest, hooks, left = hashlib.sha256(), list[dict[str, Any]](), MOST_BYTES
        presets = list[tuple[str, bytes]]()
        whole = len(stamps) <= MOST_FILES
        for path, *_ in stamps:
            try:
                with open(path, "rb") as file:  # noqa: PTH123 - when something has changed
                    data = file.read(left + 1)
            except OSError:
                whole = False
                continue
            left -= len(data)
            whole = whole and left >= 0
            name = path[len(self._root) + 1 :]
            digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
            if name in HOOK_PLACES:
                hooks += _hooks_in(data)
            elif os.path.dirname(name) == PRESET_PLACE and name.endswith(PRESET_END):  # noqa: PTH120 - paths are text
                presets.append((path, data))
            left = max(left, 0)
        skills = (skill_folder(f"{self._root}/{place}", within=self._root).look() for place in SKILL_PLACES)
        found = tuple(_distinct(skills))
        whole = whole and stamps == tuple(sorted(self._files()))  # else something changed while it was read
        return Brought(found, tuple(hooks), tuple(presets), digest.hexdigest() if whole else "")


def _distinct(groups: Iterator[tuple[Skill, ...]]) -> Iterator[Skill]:
    names = set[str]()
    for group in groups:
        for skill in group:
            if skill.name not in names:
                names.add(skill.name)
                yield skill


def _hooks_in(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return
    found = document.get("hooks") if isinstance(document, dict) else None
    if isinstance(found, dict) and found:
        yield found
