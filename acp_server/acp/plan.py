"""The plan that the model writes, as the editor shows it (docs/protocol.md, clauses U-02 and U-03). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plan_update(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update for a `todo/write` event: the whole list, each time."""
    entries = [{"content": item["content"], "priority": "medium", "status": item["status"]} for item in data["todos"]]
    return {"sessionUpdate": "plan", "entries": entries}
