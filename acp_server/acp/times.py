"""Times as the protocol writes them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_utc(milliseconds: int) -> str:
    """Return wall-clock milliseconds since the epoch as ISO 8601 in UTC, with milliseconds and a Z."""
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
