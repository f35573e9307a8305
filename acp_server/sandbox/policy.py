"""What one call may touch, as a value (docs/sandbox.md). Pure: enforcement is the backends' matter.

Three axes, kept apart: the level of file effects, the network, and who may be asked for more. A policy is computed
once for a call and travels with it.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from acp_server.base.values import value

Level: TypeAlias = Literal["read-only", "workspace-write", "full-access"]
LEVELS: Final[tuple[Level, ...]] = ("read-only", "workspace-write", "full-access")
NetworkMode: TypeAlias = Literal["off", "allow-list", "on"]


@value
class Network:
    """What a command may reach; `hosts` counts for the allow-list alone, each a name or `*.suffix`, less `denied`."""

    mode: NetworkMode = "off"
    hosts: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


@value
class Policy:
    """What one call may touch.

    `workspace` is the session's directory, `roots` further directories of the person's choice; all are absolute and
    resolved. `allowed_paths` are single protected or secret paths that the person allowed for this call.
    `hide_secrets` takes the secrets of workspaces away from a command that has no network either. `denied` are paths,
    resolved too, that a rule of the person's lets nobody change, with what lies beneath; no approval goes before it.
    """

    level: Level
    workspace: str
    roots: tuple[str, ...] = ()
    network: Network = Network()
    allowed_paths: tuple[str, ...] = ()
    hide_secrets: bool = False
    denied: tuple[str, ...] = ()


def at_most(level: Level, limit: Level) -> Level:
    """Return the narrower of two levels."""
    return min(level, limit, key=LEVELS.index)
