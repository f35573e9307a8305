"""The wire as a person may read it: each frame as one line with secrets masked.

Masks by name, so it is a help for debugging and no vault: a key that was typed into a prompt stays readable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

MASK: Final = "***"
LINE: Final = 4000
_SECRET: Final = re.compile(r"key|token|secret|passw|authoriz|credential|cookie", re.IGNORECASE)
_PAIRS: Final = frozenset({"env", "headers"})


class Trace:
    """Writes what passes on the wire to `log`, one line a frame, at most LINE characters of it."""

    __slots__ = ("_log",)

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def inbound(self, line: bytes) -> None:
        """Note a line from the client."""
        self._log(f"<- {describe(line)}")

    def outbound(self, frame: bytes) -> None:
        """Note a frame to the client."""
        self._log(f"-> {describe(frame)}")


def describe(line: bytes) -> str:
    """Return the line with secrets masked; of a line that is no JSON only its length, since it cannot be masked."""
    try:
        text = json.dumps(mask(json.loads(line)), ensure_ascii=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return f"({len(line)} bytes that are no JSON)"
    return text if len(text) <= LINE else f"{text[:LINE]}... ({len(line)} bytes)"


def mask(value: Any) -> Any:
    """Return a copy with every text masked that stands under a secret's name or is a value of `env` or `headers`."""
    if isinstance(value, dict):
        return {key: _mask_member(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [mask(inner) for inner in value]
    return value


def _mask_member(key: str, value: Any) -> Any:
    if _SECRET.search(key):
        return _hide(value)
    if key in _PAIRS:
        return _mask_pairs(value)
    return mask(value)


def _mask_pairs(value: Any) -> Any:
    """`[{name, value}]` keeps its names, `{name: value}` its keys."""
    if isinstance(value, list):
        return [_mask_pairs(inner) for inner in value]
    if isinstance(value, dict):
        return {key: inner if key == "name" else _hide(inner) for key, inner in value.items()}
    return _hide(value)


def _hide(value: Any) -> Any:
    """Numbers and truth values stay: `maxTokens` is no secret."""
    if isinstance(value, dict):
        return {key: _hide(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hide(inner) for inner in value]
    return MASK if isinstance(value, str) else value
