"""Which file holds all of a text of which a tool's result shows a part, as the log keeps it with the result. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.session.events import SessionEvent

WHOLE: Final = "whole"
"""The key of the path in the `meta` of a `tool/result`."""


def whole_path(event: SessionEvent) -> str | None:
    """Return the file's path; None where the log names none."""
    meta = event.data.get("meta")
    path = meta.get(WHOLE) if isinstance(meta, Mapping) else None
    return path if isinstance(path, str) else None
