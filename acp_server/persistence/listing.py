"""Rows of the catalogue as a page of the list, and the first page for who has nothing but the catalogue. Blocking.

Owns the form of a line. What is held by this process, and may be known better than by its row, is the store's matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from acp_server.base.ids import SessionId
from acp_server.persistence.catalog import Catalog
from acp_server.persistence.catalog_db import Row
from acp_server.persistence.cursor import encode_cursor
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import CATALOG_NAME
from acp_server.persistence.port import BrokenEntry, Origin, SessionEntry, SessionPage


def entry_of(row: Row) -> SessionEntry:
    """Return a line of the list."""
    parent = None if row.parent is None else SessionId(row.parent)
    updated = row.updated_ns // 1_000_000
    counts = (row.title, row.events, row.turns)
    origin: Origin = "subagent" if row.origin == "subagent" else None
    return SessionEntry(SessionId(row.id), row.cwd, row.created_at, updated, *counts, parent, origin)


def page_of(entries: Iterable[SessionEntry], rows: Sequence[Row], broken: Iterable[Row], *, more: bool) -> SessionPage:
    """Return the page of those entries, which came from those rows; `more` is whether others follow."""
    unreadable = tuple(BrokenEntry(f"{row.project}/{row.segment}", row.reason or "") for row in broken)
    return SessionPage(tuple(entries), encode_cursor(rows[-1].updated_ns, rows[-1].id) if more else None, unreadable)


def first_page(io: LogIo, root: str, cwd: str | None, limit: int) -> SessionPage | None:
    """Return the first page as a store on that root would list it, None when a store has to find out more for it.

    That is so when there is no catalogue yet, or when a session of the page was never read.
    """
    if not os.path.exists(f"{root}/{CATALOG_NAME}"):  # noqa: PTH110 - pathlib is not for the first list
        return None
    catalog = Catalog(io, root)
    try:
        rows, more, broken = catalog.page(cwd, None, limit)
    finally:
        catalog.close()
    if any(row.events is None for row in rows):
        return None
    return page_of(map(entry_of, rows), rows, broken, more=more)
