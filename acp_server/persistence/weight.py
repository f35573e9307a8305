"""About how many bytes an event takes, cheaply, for the limits of the write queue. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.session.events import SessionEvent

ENVELOPE: Final = 120
_VALUE: Final = 8


def weight(event: SessionEvent) -> int:
    """Return the characters of the event's texts plus a flat sum for what stands around them."""
    total = ENVELOPE
    waiting: list[object] = [event.data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            total += len(value) + _VALUE
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
            total += sum(map(len, value)) + _VALUE
        elif isinstance(value, tuple | list):
            waiting.extend(value)
        else:
            total += _VALUE
    return total
