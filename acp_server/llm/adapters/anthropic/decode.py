"""Answers of Messages, streamed or whole, as neutral chunks (docs/llm.md, clauses W-10 and W-13)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapter import SseEvent
from acp_server.llm.adapters.answer import Answer, OpenBlock
from acp_server.llm.adapters.anthropic.other_blocks import OtherBlock
from acp_server.llm.adapters.call_ids import CallIds
from acp_server.llm.adapters.faults import malformed, told
from acp_server.llm.adapters.replay import replay_state
from acp_server.llm.adapters.wire_json import clean, count, joined_pairs, record, rows, text
from acp_server.messages.chunks import BlockType, FinishKind, StreamChunk, TokenUsage
from acp_server.messages.request import GenerateOptions

PAUSED: Final = "pause_turn"
"""Why an answer ended in the middle of the work of the provider's own tools, which it needs back to go on."""
_FINISHES: Final[Mapping[str, FinishKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    PAUSED: "pause",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
    "model_context_window_exceeded": "max-tokens",
    "refusal": "refusal",
}
_KINDS: Final[Mapping[str, BlockType]] = {
    "text": "text",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "tool_use": "tool-call",
}
_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicDecoder:
    """One answer's decoder."""

    __slots__ = ("_answer", "_blocks", "_counts", "_ids", "_others", "_reason", "_started")

    def __init__(self, options: GenerateOptions) -> None:
        self._answer = Answer()
        self._ids = CallIds(options.messages)
        self._blocks: dict[int | None, OpenBlock] = {}
        self._started: dict[int | None, Mapping[str, Any]] = {}
        self._others: dict[int | None, OtherBlock] = {}
        self._counts: dict[str, int] = {}
        self._reason = ""

    @property
    def ended(self) -> bool:
        """See Decoder."""
        return bool(self._reason)

    def feed(self, event: SseEvent) -> Sequence[StreamChunk]:
        """Return the chunks of one event; its type stands in the payload, else in the event's name."""
        out: list[StreamChunk] = []
        if self._answer.done or event.data == "[DONE]":
            return out
        payload = self._answer.payload(out, event)
        if payload is not None:
            self._take(out, text(payload.get("type")) or event.event, payload)
        return out

    def document(self, body: JsonValue) -> Sequence[StreamChunk]:
        """Return the chunks of a whole message, or of an error document."""
        out: list[StreamChunk] = []
        document = record(body)
        if document.get("error"):
            self._answer.fail(out, told(document["error"]))
        elif document.get("type") != "message":
            self._answer.fail(out, told(document) if "message" in document else malformed(str(body)))
        else:
            for place, block in enumerate(rows(document.get("content"))):
                self._start(out, place, record(block))
                self._stop(out, place)
            self._close(out, document, document)
            self._complete(out)
        return out

    def finish(self) -> Sequence[StreamChunk]:
        """Return what is left when the body has ended: an answer whose stop reason came is whole."""
        out: list[StreamChunk] = []
        if self._answer.done:
            return out
        if self._reason:
            self._complete(out)
        else:
            self._answer.break_off(out)
        return out

    def _take(self, out: list[StreamChunk], kind: str, payload: dict[str, Any]) -> None:
        if kind == "content_block_delta":
            self._delta(out, count(payload.get("index")), record(payload.get("delta")))
        elif kind == "content_block_start":
            self._start(out, count(payload.get("index")), record(payload.get("content_block")))
        elif kind == "content_block_stop":
            self._stop(out, count(payload.get("index")))
        elif kind == "message_start":
            self._count(out, record(payload.get("message")).get("usage"))
        elif kind == "message_delta":
            self._close(out, record(payload.get("delta")), payload)
        elif kind == "message_stop":
            self._complete(out)
        elif kind == "error" or payload.get("error"):
            self._answer.fail(out, told(payload.get("error") or payload))

    def _start(self, out: list[StreamChunk], place: int | None, content: Mapping[str, Any]) -> None:
        kind = _KINDS.get(text(content.get("type")))
        if kind is None:
            if (other := OtherBlock.of(content, len(self._blocks))) is not None:
                self._others[place] = other
            return
        if kind == "tool-call":
            name = joined_pairs(text(content.get("name")))
            ident = self._ids.give(joined_pairs(text(content.get("id"))))
            block = self._answer.begin("tool-call", ident, name)
            self._answer.write(out, block, "", name)
        else:
            block = self._answer.begin(kind)
            self._answer.write(out, block, text(content.get("text") or content.get("thinking")))
        self._blocks[place], self._started[place] = block, content
        block.replay = _kept(content)

    def _delta(self, out: list[StreamChunk], place: int | None, delta: Mapping[str, Any]) -> None:
        if place in self._others:
            self._others[place].feed(delta)
        block = self._blocks.get(place)
        if block is None or not block.open:
            return
        kind = delta.get("type")
        if kind == "text_delta":
            self._answer.write(out, block, text(delta.get("text")))
        elif kind == "input_json_delta":
            self._answer.write(out, block, text(delta.get("partial_json")))
        elif kind == "thinking_delta":
            self._answer.write(out, block, text(delta.get("thinking")))
        elif kind == "signature_delta":
            kept = record(block.replay).get("signature", "")
            block.replay = {"signature": f"{kept}{joined_pairs(text(delta.get('signature')))}"}

    def _stop(self, out: list[StreamChunk], place: int | None) -> None:
        block = self._blocks.get(place)
        if block is None:
            return
        if block.kind == "tool-call" and not block.parts:
            given = record(clean(record(self._started[place]).get("input")))
            self._answer.write(out, block, json.dumps(given, ensure_ascii=False))
        self._answer.end(out, block)

    def _close(self, out: list[StreamChunk], delta: Mapping[str, Any], around: Mapping[str, Any]) -> None:
        self._count(out, around.get("usage"))
        self._reason = text(delta.get("stop_reason")) or self._reason
        if self._reason:
            for place in self._blocks:
                self._stop(out, place)

    def _count(self, out: list[StreamChunk], usage: object) -> None:
        """Take counts: each is a running total, the last one told holds; a zero takes none back."""
        told_counts = record(usage)
        for name in _COUNTS:
            number = count(told_counts.get(name))
            if number is not None and (number or not self._counts.get(name)):
                self._counts[name] = number
        if self._counts:
            given, output, read, written = map(self._counts.get, _COUNTS)
            self._answer.count(out, TokenUsage(given or 0, output or 0, read, written))

    def _complete(self, out: list[StreamChunk]) -> None:
        known = self._reason in _FINISHES
        state = replay_state(
            "anthropic",
            blocks=self._answer.replay_blocks(),
            others=[other.entry() for other in self._others.values()] if self._reason == PAUSED else None,
            finish=None if known else joined_pairs(self._reason),
        )
        self._answer.complete(out, _FINISHES.get(self._reason, "stop"), state)


def _kept(content: Mapping[str, Any]) -> dict[str, JsonValue] | None:
    """Return what goes back with the block: thinking's signature, or what is hidden of it."""
    for key in ("signature", "data"):
        if kept := text(content.get(key)):
            return {key: joined_pairs(kept)}
    return None
