"""The skills and prompts of a process, by the directory of a session (docs/skills.md).

Owns which of them count: the person's own, and a workspace's while it is trusted in the content that it has. The disk
is asked each time; files are read when they have changed.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from acp_server.acp.commands import Command, unused
from acp_server.app.places import Places
from acp_server.app.project_brings import NOTHING, Brought, Project
from acp_server.app.skill_folders import prompt_folder, skill_folder
from acp_server.app.skill_text import PromptFile, Skill, filled, listed, told_skill
from acp_server.app.trust import TrustFile
from acp_server.base.errors import ServerError

SHORT: Final = 12
"""Digits of a digest by which the person says what is trusted."""
SHOWN: Final = 4000
"""Characters of a preset's file that `/trust` shows."""


class SkillBook:
    """See the module."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._skills = skill_folder(f"{places.config}/skills")
        self._prompts = prompt_folder(f"{places.config}/prompts")
        self._trust = TrustFile(places.state)
        self._projects: dict[str, Project] = {}

    def brought(self, cwd: str | None) -> Brought:
        """Return what a workspace brings, trusted or not."""
        if cwd is None:
            return NOTHING
        root = os.path.realpath(cwd)
        project = self._projects.get(root)
        if project is None:
            project = self._projects[root] = Project(root)
        return project.look()

    def trusted(self, cwd: str | None) -> Brought:
        """Return what a workspace brings and the person trusts, which is all of it or nothing."""
        brought = self.brought(cwd)
        if cwd is None or not brought or not brought.digest:
            return NOTHING
        return brought if self._trust.trusts(os.path.realpath(cwd), brought.digest) else NOTHING

    def skills(self, cwd: str | None) -> tuple[Skill, ...]:
        """Return the skills of sessions in that directory, by name; the person's own go before a workspace's."""
        found = {skill.name: skill for skill in (*self.trusted(cwd).skills, *self._skills.look())}
        return tuple(found[name] for name in sorted(found))

    def text(self, cwd: str | None) -> str | None:
        """Return the list of skills that a model is told, or None."""
        return listed(self.skills(cwd))

    def readable(self) -> tuple[str, ...]:
        """Return the real folders of the person's own skills."""
        return tuple(os.path.dirname(skill.path) for skill in self._skills.look())  # noqa: PTH120 - asked for each call

    def commands(self, cwd: str | None) -> tuple[Command, ...]:
        """Return the prompts and skills as commands; a prompt goes before a skill of its name."""
        prompts = (_prompt_command(prompt) for prompt in self._prompts.look())
        return (*prompts, *(_skill_command(skill) for skill in self.skills(cwd)))

    def trust(self, cwd: str | None, args: str) -> str:
        """Answer `/trust`: tell what the workspace brings, trust it, or trust it no more.

        Raises:
            ServerError: TRUST_FAILED, TRUST_CHANGED.
        """
        brought = self.brought(cwd)
        root = os.path.realpath(cwd or "/")
        if args == "no":
            self._trust.revoke(root)
            return "Nothing that this project brings is used."
        if not brought:
            return "This project brings no skills, hooks or presets."
        if not brought.digest:
            return "This project brings too much to be trusted: nothing of it is used."
        if not args:
            return _described(brought, trusted=self._trust.trusts(root, brought.digest))
        if args != brought.digest[:SHORT]:
            raise ServerError(
                "TRUST_CHANGED", "The project's skills, hooks and presets are others than that; look with `/trust`."
            )
        self._trust.grant(root, brought.digest)
        return "What this project brings is used from here on, until its content changes."

    def notice(self, cwd: str | None) -> str | None:
        """Return the sentence for a session whose workspace brings what is not trusted, or None."""
        brought = self.brought(cwd)
        if not brought or self.trusted(cwd):
            return None
        return f"This project brings {_counted(brought)}; nothing of it is used until you look with `/trust`."


def _counted(brought: Brought) -> str:
    kinds = (
        (len(brought.skills), "skill", "skills"),
        (len(brought.hooks), "file of hooks", "files of hooks"),
        (len(brought.presets), "preset", "presets"),
    )
    return " and ".join(f"{count} {one if count == 1 else several}" for count, one, several in kinds if count)


def _described(brought: Brought, *, trusted: bool) -> str:
    lines = [f"- skill {skill.name}: {skill.description}" for skill in brought.skills]
    lines += [f"- hook {event}: `{command}`" for hooks in brought.hooks for event, command in commands_in(hooks)]
    lines += [f"- preset {path.rpartition('/')[2]}:\n{_quoted(data)}" for path, data in brought.presets]
    ends = "`/trust no` ends that." if trusted else f"Say `/trust {brought.digest[:SHORT]}` to have them used."
    head = "This project brings, trusted:" if trusted else "This project brings, not used so far:"
    return "\n".join([head, *lines, "", ends])


def _quoted(data: bytes) -> str:
    """Return the beginning of a file as a block that nothing in it can end."""
    text = data.decode("utf-8", "replace")
    rest = [] if len(text) <= SHOWN else [f"({len(text) - SHOWN} more characters in the file)"]
    return "\n".join(f"      {line}" for line in (*text[:SHOWN].splitlines(), *rest))


def commands_in(hooks: dict[str, object]) -> list[tuple[str, str]]:
    """Return event and command line of each hook in hook settings, whatever shape they have."""
    found: list[tuple[str, str]] = []
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else ():
            inner = group.get("hooks") if isinstance(group, dict) else None
            hooks_of = inner if isinstance(inner, list) else []
            commands = (hook.get("command") for hook in hooks_of if isinstance(hook, dict))
            found += [(event, command) for command in commands if isinstance(command, str)]
    return found


def _prompt_command(prompt: PromptFile) -> Command:
    return Command(prompt.name, prompt.description, unused, prompt.hint, expand=partial(filled, prompt))


def _skill_command(skill: Skill) -> Command:
    return Command(skill.name, skill.description, unused, "what to do", expand=partial(told_skill, skill))
