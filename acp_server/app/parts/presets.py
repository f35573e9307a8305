"""The component of presets that are files; nothing is loaded where there are none (docs/presets.md)."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

from acp_server.agent.presets import Offer
from acp_server.app.components import hot
from acp_server.app.parts.skills import LateBook
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import HotSession, SessionObserver

if TYPE_CHECKING:
    from acp_server.app.preset_book import PresetBook
    from acp_server.app.skill_book import SkillBook

NONE = Offer(())


class LatePresets:
    """The book of presets, once there is a file that could stand in it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._skills = LateBook(parts)
        self._book: PresetBook | None = None

    def offer(self, cwd: str | None) -> Offer:
        """See PresetSource."""
        book = self._skills.find(cwd)
        if book is None or (self._book is None and not _any(book, cwd)):
            return NONE
        if self._book is None:
            from acp_server.app.preset_book import PresetBook  # noqa: PLC0415 - for who has presets

            self._book = PresetBook(book.places, book.brought, book.trusted)
        return self._book.offer(cwd)

    def opened(self, session: HotSession) -> None:
        """Tell the person of files that are wrong, while the preset of a session can still be chosen."""
        for _, sentence in self.offer(session.cwd).wrong if session.events == 0 else ():
            asyncio.get_running_loop().call_soon(partial(self._parts.tell, session.id, sentence))


@hot
def presets(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the presets of the person's and of workspaces."""
    late = LatePresets(parts)
    parts.presets.add(late.offer)
    parts.observers.add(SessionObserver(opened=late.opened))


def _any(book: SkillBook, cwd: str | None) -> bool:
    return bool(book.brought(cwd).presets) or os.path.isdir(f"{book.places.config}/presets")  # noqa: PTH112 - one call
