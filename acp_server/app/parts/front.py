"""Components of the front ends: which one a process has, and the slash commands that are shipped."""

from __future__ import annotations

from acp_server.acp.commands import shipped_commands
from acp_server.app.registries import Parts
from acp_server.app.row import Config


def acp(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the front end that editors talk to."""
    parts.fronts.add("acp")


def headless(parts: Parts, config: Config) -> None:  # noqa: ARG001 - likewise
    """Register the front end that runs one task without an editor."""
    parts.fronts.add("headless")


def commands(parts: Parts, config: Config) -> None:  # noqa: ARG001 - likewise
    """Register the slash commands that are shipped."""
    for command in shipped_commands(lambda: parts.commands.items):
        parts.commands.add(command)
