"""Whether a session is compacted by itself, as a config option (docs/protocol.md, clause M-22). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.acp.failures import invalid

COMPACTION: Final = "compaction"
"""The id of the option, which clients keep: it never changes."""
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "auto": ("Automatic", "The conversation is summarised when the model's window is nearly full."),
    "off": ("Off", "Nothing is summarised unless you send `/compact`."),
}


def compaction_option(*, auto: bool) -> dict[str, Any]:
    """Return the option."""
    return {
        "id": COMPACTION,
        "name": "Compaction",
        "description": "What happens when the conversation outgrows the model's window.",
        "category": "_acp_server_compaction",
        "type": "select",
        "currentValue": "auto" if auto else "off",
        "options": [{"value": value, "name": name, "description": told} for value, (name, told) in _WORDS.items()],
    }


def read_auto(given: object) -> bool:
    """Return what a client chooses; raise RpcError -32602."""
    if given not in _WORDS:
        raise invalid("value", f"is {given!r}; offered are: {', '.join(_WORDS)}")
    return given == "auto"
