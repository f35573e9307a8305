"""Compactions as a person sees them: as updates of their own where the client shows those, else as a thought.

Clauses U-12 and U-13 of docs/protocol.md. Pure: events in, updates out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp_server.session.events import SessionEvent


class Compactions:
    """The fold's state for one session; `offered` says whether the client shows compactions itself."""

    def __init__(self, *, offered: bool) -> None:
        self._offered = offered
        self._summary = ""
        self._cut = 0
        self._saved = 0

    def updates(self, event: SessionEvent) -> Sequence[dict[str, Any]]:
        """Return the updates of a `compaction/start` or `compaction/end` for a client that shows compactions."""
        data = event.data
        if event.type == "compaction/start":
            self._summary = ""
        if not self._offered:
            return ()
        update: dict[str, Any] = {"sessionUpdate": "compaction_update", "compactionId": data["compactionId"]}
        if event.type == "compaction/start":
            return ({**update, "status": "in_progress"},)
        if "error" in data:
            status = "cancelled" if data.get("cancelled") is True else "failed"
            return ({**update, "status": status, "error": data["error"]},)
        summary = [{"type": "text", "text": self._summary}] if self._summary else []
        return ({**update, "status": "completed", **({"summary": summary} if summary else {})},)

    def summarised(self, event: SessionEvent) -> Sequence[dict[str, Any]]:
        """Take the summary of the compaction that is open; nothing is shown of it yet."""
        blocks: Any = event.data["summary"]
        self._summary = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        return ()

    def cut(self, event: SessionEvent) -> Sequence[dict[str, Any]]:
        """Take note of a result that was cut; what was cut is told before the next step."""
        gone, left = event.data.get("shadowedTokenCount"), event.data.get("tokens")
        if isinstance(gone, int) and isinstance(left, int):
            self._cut += 1
            self._saved += gone - left
        return ()

    def thought(self, data: Mapping[str, Any]) -> str | None:
        """Return what is told of a compaction that ended well inside a turn, to a client that does not show them."""
        before, after = data.get("tokensBefore"), data.get("tokensAfter")
        self._cut = self._saved = 0
        if self._offered or data.get("turn") is None or data.get("trimmed") or "error" in data:
            return None
        return f"The conversation was summarised to make room: about {before:,} tokens became {after:,}.\n"

    def cuts(self) -> tuple[int, int]:
        """Return how many results were cut since the last compaction or call, and the tokens saved; forget both."""
        found = self._cut, self._saved
        self._cut = self._saved = 0
        return found
