"""A page of stored sessions as the result of `session/list` (docs/protocol.md, clauses S-10 to S-14)."""

from __future__ import annotations

from typing import Any, Final

from acp_server.acp.times import iso_utc
from acp_server.persistence.port import SessionEntry, SessionPage

PAGE: Final = 50


def list_result(page: SessionPage) -> dict[str, Any]:
    """Return the result; a session without a directory is not the editor's, what cannot be read is told apart."""
    result: dict[str, Any] = {"sessions": [_info(entry) for entry in page.entries if entry.cwd is not None]}
    if page.next_cursor is not None:
        result["nextCursor"] = page.next_cursor
    if page.broken:
        broken = [{"place": entry.place, "reason": entry.reason} for entry in page.broken]
        result["_meta"] = {"acp_server": {"broken": broken}}
    return result


def _info(entry: SessionEntry) -> dict[str, Any]:
    info: dict[str, Any] = {"sessionId": entry.id, "cwd": entry.cwd, "updatedAt": iso_utc(entry.updated_at)}
    if entry.title is not None:
        info["title"] = entry.title
    return info
