"""What commands of a session may reach, as the person chose it in the editor (docs/sandbox.md, clause N-8). Pure.

On the start path: the enforcement, and the words of the settings, are elsewhere.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from acp_server.session.log import EventLog

Reach: TypeAlias = Literal["off", "allow-list", "on"]
REACHES: Final[tuple[Reach, ...]] = ("off", "allow-list", "on")
NETWORK_EVENT: Final = "sandbox/network"


def reach_of(log: EventLog) -> Reach | None:
    """Return what the log says, None when it leaves it to the settings."""
    found: Any = None
    for event in log.of_types((NETWORK_EVENT,)):
        found = event.data.get("network")
    return found if found in REACHES else None
