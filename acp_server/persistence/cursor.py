"""The cursor of the session list: where a page ended, as opaque text. Pure."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from acp_server.persistence.port import PersistenceError


def encode_cursor(updated: int, session_id: str) -> str:
    """Return the text for the last entry of a page."""
    return urlsafe_b64encode(json.dumps([updated, session_id]).encode()).decode()


def decode_cursor(cursor: str) -> tuple[int, str]:
    """Return what `encode_cursor` was given; raise PersistenceError INVALID_CURSOR for any other text."""
    try:
        updated, session_id = json.loads(urlsafe_b64decode(cursor.encode("ascii")))
    except (ValueError, TypeError, RecursionError):
        updated = session_id = None
    if type(updated) is not int or type(session_id) is not str or not -(2**63) <= updated < 2**63:
        raise PersistenceError("INVALID_CURSOR", "The cursor is not one that this server gave.")
    return updated, session_id
