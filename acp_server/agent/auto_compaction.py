"""Whether a session is compacted by itself, as the person chose it (docs/compaction.md, clause S-1). Pure.

On the start path: how it is done is elsewhere.
"""

from __future__ import annotations

from typing import Final

from acp_server.session.log import EventLog

AUTO_EVENT: Final = "compaction/auto"


def auto_of(log: EventLog) -> bool | None:
    """Return what the log says, None when it leaves it to the settings."""
    found = None
    for event in log.of_types((AUTO_EVENT,)):
        auto = event.data.get("auto")
        found = auto if isinstance(auto, bool) else None
    return found
