"""Components of the front ends: which one a process has, and the slash commands that are shipped."""

from __future__ import annotations

from collections.abc import Sequence

from acp_server.acp.commands import Command, commands_of, shipped_commands, unused
from acp_server.agent.agent import Agent
from acp_server.app.places import account_home, find_places
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.base.cancel import CancelToken


def acp(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the front end that editors talk to."""
    parts.fronts.add("acp")


def headless(parts: Parts, config: Config) -> None:  # noqa: ARG001 - likewise
    """Register the front end that runs one task without an editor."""
    parts.fronts.add("headless")


def commands(parts: Parts, config: Config) -> None:  # noqa: ARG001 - likewise
    """Register the slash commands that are shipped."""

    def known(cwd: str | None) -> Sequence[Command]:
        return commands_of(parts.commands.items, parts.command_sources.items, cwd)

    for command in (*shipped_commands(known), *parts.service_commands):
        parts.commands.add(command)

    def permissions(agent: Agent, args: str) -> str:
        from acp_server.acp.permission_command import permissions as answer  # noqa: PLC0415 - not for the start path
        from acp_server.app.kept_rules import RuleFile  # noqa: PLC0415 - likewise

        return answer(agent, args, RuleFile(lambda: find_places(parts.environment, account_home).config))

    async def undo(agent: Agent, args: str, command_id: str, cancel: CancelToken) -> str:
        from acp_server.acp.undo_command import undo as answer  # noqa: PLC0415 - not for the start path

        return await answer(agent, args, command_id, cancel)

    async def export(agent: Agent, args: str, _command_id: str, _cancel: CancelToken) -> str:
        from acp_server.acp.export_command import export as answer  # noqa: PLC0415 - not for the start path

        return await answer(agent, args)

    parts.commands.add(
        Command(
            "export", "Writes this conversation into a file of the project.", unused, "markdown | jsonl, FILE", export
        )
    )
    parts.commands.add(
        Command(
            "undo",
            "Shows what going back before your last message would change; `/undo go` does it, files included.",
            unused,
            "N | go | back",
            undo,
        )
    )
    parts.commands.add(
        Command(
            "permissions", "Lists, keeps and revokes rules of consent.", permissions, "revoke | keep | allow | deny"
        )
    )
