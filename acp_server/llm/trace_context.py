"""The trace that a turn belongs to, as W3C Trace Context and Baggage write it (docs/protocol/messages.md, T-86).

It follows the work of the turn wherever that goes, as a context variable: to providers as headers, to MCP servers in
`_meta`. It is in no log and no event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

NO_TRACE: Final[Mapping[str, str]] = {}
current: Final[ContextVar[Mapping[str, str]]] = ContextVar("trace", default=NO_TRACE)
"""The trace of the turn in whose task this is asked."""

_PARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x21-\x7e]*)?")
_MOST: Final = {"tracestate": 512, "baggage": 8192}
_PLAIN: Final = re.compile(r"[\x20-\x7e]+")


def trace_of(meta: object) -> Mapping[str, str]:
    """Return what `_meta` says of a trace; what could not stand in a header, or is too long, is left out.

    Without a `traceparent` there is no `tracestate`.
    """
    if not isinstance(meta, Mapping):
        return NO_TRACE
    parent = meta.get("traceparent")
    found: dict[str, str] = {}
    if isinstance(parent, str) and len(parent) <= 256 and _PARENT.fullmatch(parent) and parent[:2] != "ff":
        found["traceparent"] = parent
    for name, most in _MOST.items():
        text = meta.get(name)
        if isinstance(text, str) and len(text) <= most and _PLAIN.fullmatch(text) and text.strip():
            found[name] = text.strip()
    if "traceparent" not in found:
        found.pop("tracestate", None)
    return found
