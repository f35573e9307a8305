"""The modes of a session: how much happens without a question (docs/tools.md, table C). Pure, and on the start path."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from acp_server.session.log import EventLog

Mode: TypeAlias = Literal["ask", "auto", "plan", "full"]
MODE_EVENT: Final = "permission/preset"
DEFAULT_MODE: Final[Mode] = "ask"
DESCRIPTIONS: Final[dict[Mode, tuple[str, str]]] = {
    "ask": ("Ask", "Asks before each edit, and before each command that does more than look."),
    "auto": ("Auto", "Edits and confined commands run; only what widens its reach is asked."),
    "plan": ("Plan", "Reads and plans; nothing is changed."),
    "full": ("Full access", "No confinement; each command is asked."),
}
MODES: Final[tuple[Mode, ...]] = ("ask", "auto", "plan", "full")


def mode_of(log: EventLog) -> Mode:
    """Return the mode that the log says, the default when it says none."""
    mode: Any = None
    for event in log.of_types((MODE_EVENT,)):
        mode = event.data.get("preset")
    return mode if mode in MODES else DEFAULT_MODE
