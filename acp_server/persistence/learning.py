"""Titles and counts of sessions that the list does not know yet, read after the list was given. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.catalog import Catalog
from acp_server.persistence.catalog_db import Row
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import LogPlace
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.recovery import look
from acp_server.persistence.summary import SHOWN_TYPES, Summary, summarize
from acp_server.persistence.two_ends import look_at_ends
from acp_server.session.header import SessionHeader

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a log beyond which only its two ends are read."""


def learn(io: LogIo, root: str, catalog: Catalog, rows: Sequence[Row], stopped: Callable[[], bool]) -> None:
    """Read the logs of these rows and note what a list shows of them; ends early when `stopped` says so."""
    for row in rows:
        if stopped():
            return
        place = LogPlace(root, row.project, row.segment, "none" if row.encoding == "none" else "zstd")
        with suppress(OSError, PersistenceError):
            facts = io.facts(place.path)
            learned = look_at_ends(io, place) if facts.size > LARGEST else _whole(io, place, SessionId(row.id))
            if learned is not None and learned[0].id == row.id:
                catalog.note(place, *learned, facts)


def _whole(io: LogIo, place: LogPlace, session_id: SessionId) -> tuple[SessionHeader, Summary]:
    found = look(io, place, session_id)
    return found.header, summarize(found.log.of_types(SHOWN_TYPES), len(found.log))
