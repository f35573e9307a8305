"""What a client says that it can do; whatever is odd counts as not offered (docs/protocol.md, clause I-05). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.base.values import value


@value
class Offered:
    """The capabilities of a client that change what is sent to it."""

    reads: bool = False
    writes: bool = False
    terminals: bool = False
    terminal_meta: bool = False
    """Whether it draws terminals from `_meta` of tool calls (clause TM-10)."""
    notices: bool = False
    compactions: bool = False
    forms: bool = False
    """Whether it shows forms (clause E-01)."""
    queue: bool = False
    """Whether it asked for the queue of prompts (docs/extensions.md, clause EX-43)."""


NOTHING: Final = Offered()


def read_offered(given: Mapping[str, Any]) -> Offered:
    """Return what the params of `initialize` offer."""
    capabilities = _object(given.get("clientCapabilities"))
    asking = _object(capabilities.get("elicitation"))
    files, meta, session = (_object(capabilities.get(key)) for key in ("fs", "_meta", "session"))
    return Offered(
        reads=files.get("readTextFile") is True,
        writes=files.get("writeTextFile") is True,
        terminals=capabilities.get("terminal") is True,
        terminal_meta=meta.get("terminal_output") is True,
        notices=isinstance(session.get("notices"), Mapping),
        compactions=isinstance(session.get("compaction"), Mapping),
        forms=isinstance(asking.get("form"), Mapping),
        queue=_object(meta.get("acp_server")).get("queue") is True,
    )


def _object(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}
