"""One try of a script as chunks and pauses (docs/llm.md, clause X-5). Pure: whoever plays it does the waiting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_server.llm.scripted.script import Burst, Call, End, Pace, Pieces, Say, Statement, Think, Try, Usage, Wait
from acp_server.messages.blocks import Block, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import (
    BlockEnd,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)

HANG: Final = "hang"
Beat: TypeAlias = StreamChunk | Wait | str


def beats(statements: Try, call_id_prefix: str) -> Iterator[Beat]:
    """Return what happens, in order: chunks, Wait, or HANG. Call ids are the prefix and the call's number from 1."""
    return _Player(call_id_prefix).play(statements)


@dataclass(slots=True)
class _Player:
    """The state of one answer in the making; `parts` is what the open block holds."""

    prefix: str
    pace: int = 0
    pieces: int = 1
    index: int = 0
    calls: int = 0
    begun: bool = False
    kind: type[Say | Think] | None = None
    parts: list[str] | None = None
    usage: TokenUsage | None = None

    def play(self, statements: Try) -> Iterator[Beat]:
        for statement in statements:
            if isinstance(statement, End):
                yield from self._end(statement)
                return
            yield from self._one(statement)
        yield from self._end(End("tool-calls" if self.calls else "stop"))

    def _one(self, statement: Statement) -> Iterator[Beat]:
        match statement:
            case Say() | Think():
                yield from self._write(type(statement), _cut(statement.text, self.pieces))
            case Burst():
                pace, self.pace = self.pace, 0
                numbered = "{n}" in statement.text
                texts = (
                    statement.text.replace("{n}", str(n)) if numbered else statement.text
                    for n in range(statement.count)
                )
                yield from self._write(Say, texts)
                self.pace = pace
            case Call():
                yield from self._call(statement)
            case Pace():
                self.pace = statement.ms
            case Pieces():
                self.pieces = statement.count
            case Wait():
                yield statement
            case Usage():
                self.usage = statement.usage

    def _write(self, kind: type[Say | Think], texts: Iterator[str]) -> Iterator[Beat]:
        if self.kind is not kind:
            yield from self._close()
            self.kind, self.parts = kind, []
        parts = self.parts if self.parts is not None else []
        delta = TextDelta if kind is Say else ReasoningDelta
        for text in texts:
            if self.pace and self.begun:
                yield Wait(self.pace)
            self.begun = True
            parts.append(text)
            yield delta(self.index, text)

    def _call(self, call: Call) -> Iterator[Beat]:
        yield from self._close()
        self.calls += 1
        ident = f"{self.prefix}{self.calls}"
        name: str | None = call.name
        for text in _cut(call.arguments, self.pieces) if call.arguments else iter(("",)):
            if self.pace and self.begun:
                yield Wait(self.pace)
            self.begun = True
            yield ToolCallDelta(self.index, ident, text, name)
            name = None
        yield BlockEnd(self.index, ToolCallBlock(ident, call.name, call.arguments))
        self.index += 1

    def _close(self) -> Iterator[Beat]:
        if self.kind is not None and self.parts is not None:
            text = "".join(self.parts)
            block: Block = TextBlock(text) if self.kind is Say else ReasoningBlock(text)
            yield BlockEnd(self.index, block)
            self.index += 1
            self.kind = self.parts = None

    def _end(self, end: End) -> Iterator[Beat]:
        how = end.how
        if how == "hang":
            yield HANG
            return
        if not isinstance(how, LlmFailure) and how != "cut":
            yield from self._close()
        if self.usage is not None:
            yield UsageChunk(self.usage)
        if isinstance(how, LlmFailure):
            yield FinishChunk("error", how)
        elif how != "cut":
            yield FinishChunk(how)


def _cut(text: str, pieces: int) -> Iterator[str]:
    """Return the text in so many pieces of nearly one length, at most one a character; 0 means one a word."""
    if pieces == 0:
        return iter(re.findall(r"\s*\S+\s*?(?=\s|$)|\s+", text))
    count = min(pieces, len(text))
    return (text[len(text) * n // count : len(text) * (n + 1) // count] for n in range(count))
