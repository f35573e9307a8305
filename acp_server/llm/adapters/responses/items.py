"""The output items of one response, each a block of the answer.

An item is found by its place in the output, else by its id, else it is the one that was written last: servers leave
out either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from acp_server.base.json_value import JsonObject
from acp_server.llm.adapters.answer import Answer, OpenBlock
from acp_server.llm.adapters.call_ids import CallIds
from acp_server.llm.adapters.wire_json import clean, joined_pairs, record, rows, text
from acp_server.messages.chunks import BlockType, StreamChunk

BETWEEN_PARTS: Final = "\n\n"
_KINDS: Final[Mapping[str, BlockType]] = {"message": "text", "reasoning": "reasoning", "function_call": "tool-call"}


@dataclass(slots=True, eq=False)
class _Item:
    block: OpenBlock | None = None
    part: object = None
    """The index of the part of a reasoning that was written last."""
    ended: bool = False


class Items:
    """The items of one answer."""

    __slots__ = ("_answer", "_by_id", "_by_place", "_ids", "_newest")

    def __init__(self, answer: Answer, ids: CallIds) -> None:
        self._answer = answer
        self._ids = ids
        self._by_place: dict[int, _Item] = {}
        self._by_id: dict[str, _Item] = {}
        self._newest: _Item | None = None

    def add(self, out: list[StreamChunk], payload: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        """Note an item that begins; a call is told at once, the others with their first word."""
        known = self._item(payload, item)
        if item.get("type") == "function_call" and known.block is None:
            self._begin_call(out, known, item)

    def write(self, out: list[StreamChunk], payload: Mapping[str, Any], kind: BlockType, piece: str) -> None:
        """Add a delta to its item's block."""
        known = self._item(payload, {})
        if known.block is None:
            if kind == "tool-call" or not piece:
                return  # a call without a beginning is told by its end, which brings its name
            known.block = self._answer.begin(kind)
        if known.block.open and known.block.kind == kind:
            self._answer.write(out, known.block, piece)

    def think(self, out: list[StreamChunk], payload: Mapping[str, Any], part: object) -> None:
        """Add a delta to an item's reasoning; a blank line stands between its parts."""
        known = self._item(payload, {})
        if known.block is not None and known.part != part:
            self.write(out, payload, "reasoning", BETWEEN_PARTS)
        known.part = part
        self.write(out, payload, "reasoning", text(payload.get("delta")))

    def end(
        self, out: list[StreamChunk], payload: Mapping[str, Any], item: Mapping[str, Any], *, last: bool = False
    ) -> None:
        """Take a whole item: give what its deltas did not, keep what has to go back, end its block."""
        kind = _KINDS.get(text(item.get("type")))
        known = self._item(payload, item)
        if kind is None or known.ended:
            return
        known.ended = True
        content = _content(kind, item)
        if known.block is None and not (last and self._answer.holds(kind, content)):
            self._begin(out, known, kind, item, content)
        if known.block is not None:
            self._catch_up(out, known.block, content)
            known.block.replay = _kept(kind, item)
            self._answer.end(out, known.block)

    def _item(self, payload: Mapping[str, Any], item: Mapping[str, Any]) -> _Item:
        place, ident = payload.get("output_index"), text(item.get("id") or payload.get("item_id"))
        known = self._by_place.get(place) if type(place) is int else None
        known = known or self._by_id.get(ident)
        if known is None:
            unnamed = type(place) is not int and not ident
            known = self._newest if unnamed and self._newest is not None and not self._newest.ended else _Item()
        if type(place) is int:
            self._by_place[place] = known
        if ident:
            self._by_id[ident] = known
        self._newest = known
        return known

    def _begin(
        self, out: list[StreamChunk], known: _Item, kind: BlockType, item: Mapping[str, Any], content: str
    ) -> None:
        if kind == "tool-call":
            self._begin_call(out, known, item)
        elif content or item.get("encrypted_content"):
            known.block = self._answer.begin(kind)

    def _begin_call(self, out: list[StreamChunk], known: _Item, item: Mapping[str, Any]) -> None:
        name = joined_pairs(text(item.get("name")))
        ident = joined_pairs(text(item.get("call_id") or item.get("id")))
        known.block = self._answer.begin("tool-call", self._ids.give(ident), name)
        self._answer.write(out, known.block, text(item.get("arguments")), name)

    def _catch_up(self, out: list[StreamChunk], block: OpenBlock, content: str) -> None:
        shown = block.text + block.half
        if block.open and len(content) > len(shown) and content.startswith(shown):
            self._answer.write(out, block, content[len(shown) :])


def parts_text(parts: object, *kinds: str) -> str:
    """Return the text of the parts of these types; a refusal's text stands under another name than words do."""
    found = [record(part) for part in rows(parts)]
    return "".join(text(part.get("text") or part.get("refusal")) for part in found if part.get("type") in kinds)


def _content(kind: BlockType, item: Mapping[str, Any]) -> str:
    if kind == "tool-call":
        return text(item.get("arguments"))
    if kind == "text":
        return parts_text(item.get("content"), "output_text", "refusal")
    thoughts = rows(item.get("summary")) or rows(item.get("content"))
    return BETWEEN_PARTS.join(text(record(thought).get("text")) for thought in thoughts)


def _kept(kind: BlockType, item: Mapping[str, Any]) -> JsonObject | None:
    """Return what goes back with the item: an encrypted reasoning as it came but for its content, a message's phase."""
    if kind == "reasoning" and item.get("encrypted_content"):
        kept = {key: clean(value) for key, value in item.items() if key not in ("content", "status")}
        return {**kept, "summary": clean(item.get("summary") or [])}
    if kind == "text" and item.get("phase"):
        return {"phase": clean(item["phase"])}
    return None
