"""One answer in the making, whatever protocol it comes by (docs/llm.md, clauses C-1 to C-9).

Owns the numbering of blocks, the joining of characters cut between deltas, the end of each block and the one finish.
Refuses to know any wire: a decoder says which block a piece belongs to and how the answer ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapter import SseEvent
from acp_server.llm.adapters.faults import malformed, told
from acp_server.llm.adapters.wire_json import REPLACEMENT, joined_pairs, parse
from acp_server.messages.blocks import Block, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import (
    BlockEnd,
    BlockType,
    FinishChunk,
    FinishKind,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)

_FIRST_HALVES: Final = ("\ud800", "\udbff")


@dataclass(slots=True, eq=False)
class OpenBlock:
    """One block: `half` is the first half of a surrogate pair that waits for the second one."""

    index: int
    kind: BlockType
    call_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    half: str = ""
    open: bool = True
    replay: JsonObject | None = None

    @property
    def text(self) -> str:
        """Return what has been written so far."""
        return "".join(self.parts)

    def mended(self, piece: str) -> str:
        """Return the piece as it may be shown: halves joined or replaced, a first half at its end held back."""
        piece, self.half = self.half + piece, ""
        if piece and _FIRST_HALVES[0] <= piece[-1] <= _FIRST_HALVES[1]:
            piece, self.half = piece[:-1], piece[-1]
        return joined_pairs(piece)

    def block(self) -> Block:
        """Return the block as it is."""
        if self.kind == "text":
            return TextBlock(self.text)
        if self.kind == "reasoning":
            return ReasoningBlock(self.text)
        return ToolCallBlock(self.call_id, self.name, self.text)


class Answer:
    """The blocks and the end of one answer. `done` is true once the finish was given."""

    __slots__ = ("_blocks", "_suspect", "_told", "_touched", "done", "usage")

    def __init__(self) -> None:
        self._blocks: list[OpenBlock] = []
        self._suspect: LlmFailure | None = None
        self._touched = False
        self._told: TokenUsage | None = None
        self.usage: TokenUsage | None = None
        self.done = False

    def payload(self, out: list[StreamChunk], event: SseEvent) -> dict[str, Any] | None:
        """Return the event's object, or None when there is none to look at.

        An event that cannot be read is the failure MALFORMED_RESPONSE once another one follows it; as the last one it
        is where the stream was cut. One that calls itself an error is one, whatever its words are; a blank one is none.
        """
        if self._suspect is not None:
            if event.data.strip():
                self.fail(out, self._suspect)
            return None
        try:
            value = parse(event.data)
        except ValueError:
            value = None
        if type(value) is dict:
            self._touched = True
            return value
        if not event.data.strip():
            return None
        self._touched = True
        if event.event == "error":
            self.fail(out, told(event.data))
        else:
            self._suspect = malformed(event.data)
        return None

    @property
    def has_calls(self) -> bool:
        """Return whether a call has begun."""
        return any(block.kind == "tool-call" for block in self._blocks)

    @property
    def filled(self) -> bool:
        """Return whether anything was said: a call, or a word of text or reasoning."""
        return any(block.parts or block.kind == "tool-call" for block in self._blocks)

    def holds(self, kind: BlockType, content: str) -> bool:
        """Return whether a block of that kind says exactly this."""
        return any(block.kind == kind and block.text == content for block in self._blocks)

    def begin(self, kind: BlockType, call_id: str = "", name: str = "") -> OpenBlock:
        """Return the next block."""
        block = OpenBlock(len(self._blocks), kind, call_id, name)
        self._blocks.append(block)
        return block

    def write(self, out: list[StreamChunk], block: OpenBlock, piece: str, name: str | None = None) -> None:
        """Add to the block's text or arguments; `name` is a call's name when this piece brings it."""
        if block.half or not piece.isascii():
            piece = block.mended(piece)
        if piece:
            block.parts.append(piece)
        elif name is None:
            return
        if block.kind == "text":
            out.append(TextDelta(block.index, piece))
        elif block.kind == "reasoning":
            out.append(ReasoningDelta(block.index, piece))
        else:
            out.append(ToolCallDelta(block.index, block.call_id, piece, name))

    def count(self, out: list[StreamChunk], usage: TokenUsage | None) -> None:
        """Take the counts so far: the first that say anything are told at once, the last ones with the finish.

        So an answer that breaks off keeps what was told of it, and a server that counts with each event costs little.
        """
        if usage is None:
            return
        self.usage = usage
        if self._told is None and (usage.input or usage.output or usage.cache_read or usage.cache_write):
            self._told = usage
            out.append(UsageChunk(usage))

    def end(self, out: list[StreamChunk], block: OpenBlock) -> None:
        """End the block, once."""
        if not block.open:
            return
        if block.half:
            block.half = ""
            self.write(out, block, REPLACEMENT)
        block.open = False
        out.append(BlockEnd(block.index, block.block()))

    def end_all(self, out: list[StreamChunk]) -> None:
        """End what is open, in order."""
        for block in self._blocks:
            self.end(out, block)

    def complete(self, out: list[StreamChunk], kind: FinishKind, replay_state: JsonValue = None) -> None:
        """Give the rest of a whole answer.

        A stop counts as tool-calls when there are calls and the other way round; with nothing said it is the failure
        EMPTY_RESPONSE.
        """
        self.end_all(out)
        if kind in ("stop", "pause", "tool-calls"):
            if not self.filled:
                self.fail(out, LlmFailure("EMPTY_RESPONSE", "The model server sent an answer without content."))
                return
            kind = "tool-calls" if self.has_calls else "pause" if kind == "pause" else "stop"
        self._finish(out, FinishChunk(kind, None, replay_state))

    def fail(self, out: list[StreamChunk], failure: LlmFailure) -> None:
        """Give the end of an answer that failed; its open blocks stay open."""
        self._finish(out, FinishChunk("error", failure))

    def break_off(self, out: list[StreamChunk]) -> None:
        """Give the end of a body that ended without saying how."""
        if self._touched:
            self.fail(out, LlmFailure("STREAM_CLOSED", "The model server closed the stream before the answer's end."))
        else:
            self.fail(out, LlmFailure("EMPTY_RESPONSE", "The model server sent an empty answer."))

    def replay_blocks(self) -> list[JsonValue] | None:
        """Return each block's entry for the way back, or None when no block has one."""
        entries: list[JsonValue] = [block.replay for block in self._blocks]
        return entries if any(entry is not None for entry in entries) else None

    def _finish(self, out: list[StreamChunk], finish: FinishChunk) -> None:
        if self.usage is not None and self.usage != self._told:
            out.append(UsageChunk(self.usage))
        out.append(finish)
        self.done = True
