"""From a stream's chunks to a message's blocks: the only such algorithm (docs/llm.md, clauses C-1 to C-9).

Owns which deltas make which block, what a finish changes, and what of a broken stream a person has seen. Refuses
nothing but a block of an unknown type that never ended: the stream's grammar is the runtime's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import made, record, replace
from acp_server.messages.blocks import Block, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)

_STOPPED: Final = FinishChunk("stop")


@record
class _Slot:
    """One block in the making; `final` is there once it has ended."""

    index: int
    kind: str
    parts: list[str] = made(default_factory=list)
    call_id: str = ""
    name: str = ""
    final: Block | None = None


class BlockAssembler:
    """The blocks of one attempt, in order of first appearance.

    A block's end is authoritative over its deltas, and the first end counts. A delta of another type than its open
    block's begins a block of its own under the same index, so that nothing shown is lost. `call_prefix` makes the ids
    of calls that came without one: `<call_prefix>-<index>`.
    """

    __slots__ = ("_call_prefix", "_finish", "_latest", "_open", "_slots", "_text_append", "_text_index", "usage")

    def __init__(self, call_prefix: str = "call") -> None:
        self._call_prefix = call_prefix
        self._slots: list[_Slot] = []
        self._open: dict[int, _Slot] = {}
        self._finish: FinishChunk | None = None
        self._text_index = -1
        self._text_append: Callable[[str], None] = _nowhere
        self.usage: TokenUsage | None = None
        """What the attempt cost; the last report counts, None when there was none."""

    def push(self, chunk: StreamChunk) -> None:
        """Take one chunk."""
        if type(chunk) is TextDelta and chunk.index == self._text_index:
            self._text_append(chunk.text)
            return
        match chunk:
            case TextDelta():
                self._add_text(chunk.index, chunk.text)
            case ReasoningDelta():
                self._slot(chunk.index, "reasoning").parts.append(chunk.text)
            case ToolCallDelta():
                self._add_call(chunk)
            case BlockStart():
                self._slot(chunk.index, chunk.block_type)
            case BlockEnd():
                self._end(chunk)
            case UsageChunk():
                self.usage = chunk.usage
            case FinishChunk():
                self._finish = chunk

    @property
    def finish(self) -> FinishChunk:
        """Return the last finish; a stream without one counts as stopped."""
        return self._finish or _STOPPED

    @property
    def finished(self) -> bool:
        """Return whether a finish has come."""
        return self._finish is not None

    @property
    def empty(self) -> bool:
        """Return whether no block has begun."""
        return not self._slots

    def blocks(self) -> tuple[Block, ...]:
        """Return the message's content. A finish for max-tokens drops calls, since their arguments may be cut.

        Calls without an id are given one, and of two calls with one id the later gets a suffix that no call has.

        Raises:
            ServerError: UNKNOWN_BLOCK_TYPE, when a block of an unknown type has not ended.
        """
        blocks = [self._assemble(slot) for slot in self._slots]
        if self.finish.kind == "max-tokens":
            return tuple(block for block in blocks if not isinstance(block, ToolCallBlock))
        return _with_distinct_ids(blocks)

    def interrupted_blocks(self) -> tuple[TextBlock | ReasoningBlock, ...]:
        """Return what a person has seen of a stream that broke off: words and thinking that are not blank."""
        seen = (slot.final or _visible(slot) for slot in self._slots)
        return tuple(block for block in seen if isinstance(block, TextBlock | ReasoningBlock) and block.text.strip())

    @property
    def replay_state(self) -> JsonValue:
        """Return the adapter's private state, fitted to `blocks()`.

        A list under `blocks` says something of each block: it loses the entries of dropped calls, and the whole state
        is None when it does not count as many blocks as there are. State without such a list is returned as it is.
        """
        state = self.finish.replay_state
        if not isinstance(state, Mapping) or "blocks" not in state:
            return state
        return self._fitted(state, state["blocks"])

    def _fitted(self, state: JsonObject, entries: JsonValue) -> JsonValue:
        if isinstance(entries, str) or not isinstance(entries, Sequence) or len(entries) != len(self._slots):
            return None
        if self.finish.kind != "max-tokens":
            return state
        kept = [entry for entry, slot in zip(entries, self._slots, strict=True) if not _is_call(slot)]
        return {**state, "blocks": kept}

    def _slot(self, index: int, kind: str) -> _Slot:
        slot = self._open.get(index)
        if slot is None or (slot.final is None and slot.kind != kind):
            slot = self._open[index] = _Slot(index, kind)
            self._slots.append(slot)
            if index == self._text_index:
                self._text_index = -1
        return slot

    def _add_text(self, index: int, text: str) -> None:
        slot = self._slot(index, "text")
        slot.parts.append(text)
        if slot.final is None:
            self._text_index, self._text_append = index, slot.parts.append

    def _add_call(self, delta: ToolCallDelta) -> None:
        slot = self._slot(delta.index, "tool-call")
        slot.parts.append(delta.arguments)
        slot.call_id = delta.id or slot.call_id
        slot.name = delta.name or slot.name

    def _end(self, end: BlockEnd) -> None:
        slot = self._open.get(end.index) or self._slot(end.index, _type_of(end.block))
        if slot.final is None:
            slot.final = end.block
            slot.parts.clear()
            if end.index == self._text_index:
                self._text_index = -1

    def _assemble(self, slot: _Slot) -> Block:
        block = slot.final or _visible(slot)
        if block is None and slot.kind == "tool-call":
            block = ToolCallBlock(slot.call_id, slot.name, "".join(slot.parts))
        if block is None:
            raise ServerError("UNKNOWN_BLOCK_TYPE", f"the block type {slot.kind!r} has no end and is not known")
        if isinstance(block, ToolCallBlock) and not block.id:
            return replace(block, id=f"{self._call_prefix}-{slot.index}")
        return block


def _nowhere(_text: str) -> None:
    raise AssertionError("no text block is open")


def _visible(slot: _Slot) -> TextBlock | ReasoningBlock | None:
    if slot.kind == "text":
        return TextBlock("".join(slot.parts))
    return ReasoningBlock("".join(slot.parts)) if slot.kind == "reasoning" else None


def _is_call(slot: _Slot) -> bool:
    return isinstance(slot.final, ToolCallBlock) if slot.final is not None else slot.kind == "tool-call"


def _type_of(block: Block) -> str:
    match block:
        case TextBlock():
            return "text"
        case ReasoningBlock():
            return "reasoning"
        case ToolCallBlock():
            return "tool-call"
        case _:
            return "other"


def _with_distinct_ids(blocks: Sequence[Block]) -> tuple[Block, ...]:
    given = [block.id for block in blocks if isinstance(block, ToolCallBlock)]
    if len(set(given)) == len(given):
        return tuple(blocks)
    taken, seen, distinct = set(given), set[str](), list[Block]()
    for block in blocks:
        if not isinstance(block, ToolCallBlock):
            distinct.append(block)
            continue
        ident = _fresh(block.id, taken) if block.id in seen else block.id
        taken.add(ident)
        seen.add(ident)
        distinct.append(block if ident == block.id else replace(block, id=ident))
    return tuple(distinct)


def _fresh(ident: str, taken: set[str]) -> str:
    number = 2
    while f"{ident}-{number}" in taken:
        number += 1
    return f"{ident}-{number}"
