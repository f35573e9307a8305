"""Which files a call has changed, seen by the card of its outcome. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp_server.base.json_value import JsonValue
from acp_server.base.values import value


@value
class Changed:
    """A changed file: pieces of its text after the change, and whether it was made."""

    path: str
    pieces: tuple[str, ...]
    made: bool


def changed_files(meta: JsonValue) -> tuple[Changed, ...]:
    """Return the files that a call changed, by the card of its outcome."""
    card: Any = meta.get("card") if isinstance(meta, Mapping) else None
    diffs: Any = card.get("diffs") if isinstance(card, Mapping) else None
    by_path: dict[str, list[Any]] = {}
    for diff in diffs or ():
        by_path.setdefault(diff["path"], []).append(diff)
    return tuple(
        Changed(path, tuple(diff["new"] for diff in group), "old" not in group[0]) for path, group in by_path.items()
    )
