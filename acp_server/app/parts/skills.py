"""The component of skills, prompt files and the trust in a workspace's own; nothing is loaded where there are none."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from acp_server.acp.commands import Command
from acp_server.agent.agent import Agent
from acp_server.agent.contexts import Context
from acp_server.app.components import hot
from acp_server.app.places import Places, account_home, find_places
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import HotSession, SessionObserver
from acp_server.base.errors import ServerError

if TYPE_CHECKING:
    from acp_server.app.skill_book import SkillBook

ORDER: Final = 200
OWN: Final = ("skills", "prompts", "presets")
PROJECTS: Final = (".agents", ".claude")
"""Folders of a workspace in which something that counts may lie."""


class LateBook:
    """The book, once there is anything that could stand in it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._book: SkillBook | None = None
        self._shown: dict[str | None, tuple[tuple[str, str, str | None], ...]] = {}

    def find(self, cwd: str | None) -> SkillBook | None:
        """Return the book, None while nothing of it can concern sessions in that directory."""
        if self._book is None:
            places = self._places()
            if places is None or not _anything(places, cwd):
                return None
            self._book = self._load(places)
        return self._book

    def text(self, cwd: str | None) -> str | None:
        """Return what a model is told; asked before each step, so commands that have changed are shown by then."""
        book = self.find(cwd)
        if book is None:
            return None
        self.commands(cwd)
        return book.text(cwd)

    def commands(self, cwd: str | None) -> Sequence[Command]:
        """See CommandSource; what has changed since they were given last is shown soon."""
        book = self.find(cwd)
        found = () if book is None else book.commands(cwd)
        seen = tuple((command.name, command.description, command.hint) for command in found)
        before = self._shown.setdefault(cwd, seen)
        if before != seen:
            self._shown[cwd] = seen
            asyncio.get_running_loop().call_soon(self._parts.commands_changed)
        return found

    def readable(self) -> tuple[str, ...]:
        """Return the directories that tools may read without a question."""
        return () if self._book is None else self._book.readable()

    def trust(self, agent: Agent, args: str) -> str:
        """Answer `/trust`."""
        places = self._places()
        if places is None:
            raise ServerError("NO_HOME", "No home directory is known, so no trust can be kept.")
        self._book = self._book or self._load(places)
        answer = self._book.trust(agent.session.header.cwd, args)
        self.commands(agent.session.header.cwd)
        self._parts.options_changed()
        return answer

    def opened(self, session: HotSession) -> None:
        """Tell the person of what the workspace brings and nobody has trusted."""
        book = self.find(session.cwd)
        sentence = None if book is None else book.notice(session.cwd)
        if sentence is not None:  # who shows the session is there once this is over
            asyncio.get_running_loop().call_soon(partial(self._parts.tell, session.id, sentence))

    def _places(self) -> Places | None:
        try:
            return find_places(self._parts.environment, account_home)
        except ServerError:
            return None

    def _load(self, places: Places) -> SkillBook:
        from acp_server.app.skill_book import SkillBook  # noqa: PLC0415 - for who has skills

        return SkillBook(places)


@hot
def skills(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the list of skills, skills and prompts as commands, and `/trust`."""
    book = LateBook(parts)
    parts.contexts.add(Context("skills", ORDER, book.text))
    parts.command_sources.add(book.commands)
    parts.readable.add(book.readable)
    parts.observers.add(SessionObserver(opened=book.opened))
    parts.commands.add(Command("trust", "Shows or trusts what this project brings.", book.trust, "DIGITS | no"))


def _anything(places: Places, cwd: str | None) -> bool:
    folders = [f"{places.config}/{name}" for name in OWN]
    folders += [] if cwd is None else [f"{cwd}/{name}" for name in PROJECTS]
    return any(os.path.isdir(folder) for folder in folders)  # noqa: PTH112 - asked in each step
