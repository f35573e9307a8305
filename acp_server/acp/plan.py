"""The plan that the model writes, as the editor shows it (docs/protocol.md, clauses U-02 and U-03). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plan_update(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update for a `todo/write` event: the whole list, each time."""
    return _update([_entry(item, item["status"]) for item in data["todos"]])


def plan_at_end(data: Mapping[str, Any] | None, reason: str) -> dict[str, Any] | None:
    """Return the update for a plan whose turn is over, None where nothing in it is in progress.

    An item that was the last one left counts as done once the turn ended by itself; any other one waits again.
    """
    items = [] if data is None else data["todos"]
    open_items = [item for item in items if item["status"] != "completed"]
    if not any(item["status"] == "in_progress" for item in open_items):
        return None
    rest = "completed" if len(open_items) == 1 and reason == "completed" else "pending"
    return _update([_entry(item, item["status"] if item not in open_items else rest) for item in items])


def _entry(item: Mapping[str, Any], status: str) -> dict[str, Any]:
    return {"content": item["content"], "priority": "medium", "status": status}


def _update(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"sessionUpdate": "plan", "entries": entries}
