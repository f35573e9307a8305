"""A session as lines of JSON: its header's, then one for each event, packed runs told one by one. Pure.

The lines are those of docs/log-format.md, before they are packed into frames.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from acp_server.session.event_json import event_to_json
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.header_json import header_to_json


def header_line(header: SessionHeader, *, ascii_only: bool = False) -> str:
    """Return the header's line, LF at its end."""
    return _encoder(ascii_only).encode(header_to_json(header)) + "\n"


def event_lines(events: Iterable[SessionEvent], *, ascii_only: bool = False) -> Iterator[str]:
    """Give one line for each event, LF at its end."""
    encode = _encoder(ascii_only).encode
    return (f"{encode(event_to_json(event))}\n" for event in events)


def _encoder(ascii_only: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
