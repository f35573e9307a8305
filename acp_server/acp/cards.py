"""Tool cards as fields of `tool_call` and `tool_call_update` (docs/protocol.md, clauses TC-06 to TC-20). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.rendering import shown_line
from acp_server.llm.masking import mask_shapes
from acp_server.tools.tool import Card, card_to_json

TITLE_LENGTH: Final = 120


def card_fields(card: Card) -> dict[str, Any]:
    """Return title, kind, locations and the diffs as content."""
    return fields_of(card_to_json(card))


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a logged card stands for; one line of a title, cut where it is too long."""
    fields: dict[str, Any] = {"title": one_line(str(data["title"])), "kind": data["kind"]}
    if data.get("locations"):
        fields["locations"] = [dict(place) for place in data["locations"]]
    if data.get("diffs"):
        fields["content"] = diff_content(data["diffs"])
    return fields


def diff_content(diffs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the diffs as content items; a file that was not there has no old text."""
    return [
        {
            "type": "diff",
            "path": diff["path"],
            **({"oldText": diff["old"]} if "old" in diff else {}),
            "newText": diff["new"],
        }
        for diff in diffs
    ]


def text_content(text: str) -> dict[str, Any]:
    """Return a text as a content item."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def one_line(title: str) -> str:
    """Return a title of one line and at most TITLE_LENGTH characters, without secrets and unseen characters."""
    line = shown_line(mask_shapes(" ".join(title.split())))
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"
