"""Components of the process itself: the diagnostic log, the store of sessions, the limits."""

from __future__ import annotations

from typing import Any, Final, cast

from acp_server.app.components import hot
from acp_server.app.limits import limits_of
from acp_server.app.places import account_home, find_places
from acp_server.app.registries import LogChoice, Parts, StoreEntry
from acp_server.app.row import Config
from acp_server.persistence.port import SessionPersistence

IN_MEMORY: Final = "Sessions are kept in memory only: nothing of this conversation outlives the server."


@hot
def log(parts: Parts, config: Config) -> None:
    """Register where the diagnostic log goes: `file` and `level`."""
    given = cast("dict[str, Any]", config)
    if given:
        parts.logs.add(LogChoice(given.get("file"), given.get("level")))


def store(parts: Parts, config: Config) -> None:
    """Register the store of sessions: `persistence` is disk or memory."""
    in_memory = config.get("persistence") == "memory"

    def make() -> SessionPersistence:
        if in_memory:
            from acp_server.persistence.memory import MemoryPersistence  # noqa: PLC0415 - for who asks for it

            return MemoryPersistence()
        from acp_server.persistence.jsonl import JsonlPersistence  # noqa: PLC0415 - compression is not for the start

        return JsonlPersistence(find_places(parts.environment, account_home).sessions)

    parts.stores.add(StoreEntry(make, IN_MEMORY if in_memory else None))


@hot
def limits(parts: Parts, config: Config) -> None:
    """Register how much and how long."""
    if config:
        parts.limits.add(limits_of(cast("dict[str, Any]", config)))
