"""Titles and counts of sessions that the list does not know yet, read after the list was given. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.catalog import Catalog
from acp_server.persistence.catalog_db import Row
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.journal import LogPlace
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.recovery import look
from acp_server.persistence.summary import summarize

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a log beyond which its title waits until somebody opens it."""


def learn(io: LogIo, root: str, catalog: Catalog, rows: Sequence[Row], stopped: Callable[[], bool]) -> None:
    """Read the logs of these rows and note what a list shows of them; ends early when `stopped` says so."""
    for row in rows:
        if stopped():
            return
        if row.size > LARGEST:
            continue
        place = LogPlace(root, row.project, row.segment, "none" if row.encoding == "none" else "zstd")
        with suppress(OSError, PersistenceError):
            facts = io.facts(place.path)
            found = look(io, place, SessionId(row.id))
            catalog.note(place, found.header, summarize(found.log.milestones(), len(found.log)), facts)
