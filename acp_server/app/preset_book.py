"""The presets that are files: the person's own, and a workspace's while it is trusted (docs/presets.md, K-4 to K-7).

Owns which files count and that a file that is wrong stands in nobody's way: what is wrong with it is told by name. The
disk is asked each time; files are read when they have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from acp_server.agent.presets import Offer, Preset
from acp_server.app.places import Places
from acp_server.app.preset_file import LARGEST, preset_in
from acp_server.app.project_brings import PRESET_END, Brought
from acp_server.app.skill_folders import MOST_FILES, Stamp, files_in
from acp_server.base.errors import ServerError

FOLDER: Final = "presets"
"""Below the place of configuration."""
Bringing = Callable[[str | None], Brought]


class PresetBook:
    """`brought` gives what a workspace brings, `trusted` what of it the person trusts."""

    def __init__(self, places: Places, brought: Bringing, trusted: Bringing) -> None:
        self._folder = f"{places.config}/{FOLDER}"
        self._brought = brought
        self._trusted = trusted
        self._stamps: tuple[Stamp, ...] = ()
        self._own = Offer(())
        self._projects: dict[str | None, tuple[Brought, Offer]] = {}

    def offer(self, cwd: str | None) -> Offer:
        """Return the presets for sessions in that directory; the person's own go before a workspace's."""
        own, project = self._mine(), self._of(cwd)
        names = {preset.id for preset in own.presets}
        joined = (*own.presets, *(preset for preset in project.presets if preset.id not in names))
        return Offer(joined, (*own.wrong, *project.wrong), project.untrusted)

    def _mine(self) -> Offer:
        found = sorted(files_in(self._folder, PRESET_END), key=lambda each: each.name)[:MOST_FILES]
        stamps = tuple(each.stamp for each in found)
        if stamps != self._stamps:
            files = ((each.path, partial(_content, each.path)) for each in found)
            self._stamps, self._own = stamps, read_presets(files, project=False)
        return self._own

    def _of(self, cwd: str | None) -> Offer:
        trusted = self._trusted(cwd)
        if not trusted.presets:
            return Offer((), (), tuple(_named(path) for path, _ in self._brought(cwd).presets))
        known = self._projects.get(cwd)
        if known is None or known[0] is not trusted:
            files = ((path, partial(bytes, data)) for path, data in trusted.presets)
            known = self._projects[cwd] = trusted, read_presets(files, project=True)
        return known[1]


def read_presets(files: Iterable[tuple[str, Callable[[], bytes]]], *, project: bool) -> Offer:
    """Return what the files make of it; each is given by its path and what reads it."""
    presets, wrong = list[Preset](), list[tuple[str, str]]()
    for path, read in files:
        name = _named(path)
        try:
            presets.append(preset_in(path, name, read(), project=project))
        except OSError as error:
            wrong.append((name, f"{path} cannot be read: {error.strerror}."))
        except ServerError as error:
            wrong.append((name, error.message))
    return Offer(tuple(presets), tuple(wrong))


def _named(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(PRESET_END)


def _content(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)
