"""Answers of Chat Completions, streamed or whole, as neutral chunks (docs/llm.md, clauses W-9 to W-11).

Owns what this protocol's events mean and how its answers end. Servers differ in what they leave out, put null for,
repeat or send late; all of it is read, and only what cannot be read is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapter import SseEvent
from acp_server.llm.adapters.answer import Answer, OpenBlock
from acp_server.llm.adapters.call_ids import CallIds
from acp_server.llm.adapters.chat.dialects import GENERIC, Dialect
from acp_server.llm.adapters.chat.tool_fragments import ToolFragments
from acp_server.llm.adapters.faults import malformed, told
from acp_server.llm.adapters.replay import replay_state
from acp_server.llm.adapters.wire_json import amount, clean, count, record, rows, text
from acp_server.messages.chunks import BlockType, FinishKind, StreamChunk, TokenUsage
from acp_server.messages.request import GenerateOptions

_FINISHES: Final[Mapping[str, FinishKind]] = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
    "max_tokens": "max-tokens",
    "max_output_tokens": "max-tokens",
    "model_length": "max-tokens",
    "model_context_window_exceeded": "max-tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
}
DETAILS: Final = "reasoning_details"
_FAILED_FINISHES: Final = frozenset({"error", "network_error", "insufficient_system_resource"})


class ChatDecoder:
    """One answer's decoder."""

    __slots__ = ("_answer", "_calls", "_costs", "_current", "_details", "_reason", "_reasoning_field", "_refused")

    def __init__(self, options: GenerateOptions, dialect: Dialect = GENERIC) -> None:
        self._costs = dialect.tells_cost
        self._answer = Answer()
        self._calls = ToolFragments(self._answer, CallIds(options.messages))
        self._current: OpenBlock | None = None
        self._reason = ""
        self._reasoning_field = ""
        self._details: list[JsonValue] = []
        self._refused = False

    @property
    def ended(self) -> bool:
        """See Decoder."""
        return bool(self._reason)

    def feed(self, event: SseEvent) -> Sequence[StreamChunk]:
        """Return the chunks of one event."""
        out: list[StreamChunk] = []
        if self._answer.done:
            return out
        if len(event.data) < 16 and event.data.strip() == "[DONE]":
            self._complete(out)
        elif (payload := self._answer.payload(out, event)) is not None:
            if event.event == "error" and "error" not in payload:
                self._answer.fail(out, told(payload))
            else:
                self._take(out, payload, "delta")
        return out

    def document(self, body: JsonValue) -> Sequence[StreamChunk]:
        """Return the chunks of a whole answer, or of an error document."""
        out: list[StreamChunk] = []
        document = record(body)
        if not rows(document.get("choices")) and not document.get("error"):
            self._answer.fail(out, told(document) if "message" in document else malformed(str(body)))
        else:
            self._take(out, document, "message")
        if not self._answer.done:
            self._complete(out)
        return out

    def finish(self) -> Sequence[StreamChunk]:
        """Return what is left when the body has ended: an answer whose finish came is whole without the end mark."""
        out: list[StreamChunk] = []
        if self._answer.done:
            return out
        if self._reason:
            self._complete(out)
        else:
            self._answer.break_off(out)
        return out

    def _take(self, out: list[StreamChunk], payload: Mapping[str, Any], part: str) -> None:
        get = payload.get
        error = get("error")
        if error or get("object") == "error":
            self._answer.fail(out, told(error or payload))
            return
        usage = get("usage")
        for choice in rows(get("choices")):
            if type(choice) is not dict or choice.get("index"):
                continue
            said = choice.get(part)
            if type(said) is dict:
                self._said(out, said, whole=part == "message")
            if reason := choice.get("finish_reason"):
                self._reason = str(reason)
                self._answer.end_all(out)
                usage = usage or choice.get("usage") or record(get("x_groq")).get("usage")
        if usage:
            self._answer.count(out, _usage(record(usage), costs=self._costs))

    def _said(self, out: list[StreamChunk], said: dict[str, Any], *, whole: bool) -> None:
        get = said.get
        content = get("content")
        if content and len(said) == 1 and type(content) is str:  # most deltas
            self._write(out, "text", content)
            return
        reasoning = get("reasoning_content") or get("reasoning")
        if reasoning:
            self._reasoning(out, said, reasoning)
        if details := get("reasoning_details"):
            self._detail(out, rows(details), told=bool(reasoning))
        if content:
            self._content(out, content)
        if refusal := get("refusal"):
            self._refused = True
            self._write(out, "text", text(refusal))
        if fragments := get("tool_calls"):
            self._fragments(out, fragments, whole=whole)
        if legacy := get("function_call"):
            self._calls.add(out, {"index": 0, "function": legacy})

    def _reasoning(self, out: list[StreamChunk], said: Mapping[str, Any], reasoning: object) -> None:
        self._reasoning_field = "reasoning_content" if said.get("reasoning_content") else "reasoning"
        self._write(out, "reasoning", text(reasoning))

    def _detail(self, out: list[StreamChunk], details: Sequence[object], *, told: bool) -> None:
        """Keep OpenRouter's reasoning details; they are the reasoning where it is told in no other field."""
        self._details += [clean(detail) for detail in details]
        if not told and self._reasoning_field in ("", DETAILS):
            found = [record(detail) for detail in details]
            if words := "".join(text(detail.get("text") or detail.get("summary")) for detail in found):
                self._reasoning_field = DETAILS
                self._write(out, "reasoning", words)

    def _content(self, out: list[StreamChunk], content: object) -> None:
        if type(content) is str:
            self._write(out, "text", content)
            return
        for part in rows(content):
            inner = record(part)
            if inner.get("type") == "thinking":
                thoughts = rows(inner.get("thinking"))
                self._write(out, "reasoning", "".join(text(record(thought).get("text")) for thought in thoughts))
            else:
                self._write(out, "text", text(inner.get("text")))

    def _fragments(self, out: list[StreamChunk], fragments: object, *, whole: bool) -> None:
        self._leave(out)
        for place, fragment in enumerate(rows(fragments)):
            if type(fragment) is dict:
                self._calls.add(out, {**fragment, "index": place} if whole else fragment)

    def _write(self, out: list[StreamChunk], kind: BlockType, piece: str) -> None:
        block = self._current
        if block is None or block.kind != kind or not block.open:
            if not piece:
                return
            self._leave(out)
            block = self._current = self._answer.begin(kind)
        self._answer.write(out, block, piece)

    def _leave(self, out: list[StreamChunk]) -> None:
        """End the text or reasoning that was being written: another block begins."""
        if self._current is not None:
            self._answer.end(out, self._current)
            self._current = None

    def _complete(self, out: list[StreamChunk]) -> None:
        reason = self._reason.lower()
        if reason in _FAILED_FINISHES:
            self._answer.fail(out, told({"type": reason, "message": f"the answer ended with {reason}"}))
            return
        kind = "refusal" if self._refused else _FINISHES.get(reason, "stop")
        state = replay_state(
            "chat",
            reasoning=self._reasoning_field,
            reasoning_details=_joined(self._details),
            extra_content=self._calls.extras,
            finish=clean(self._reason) if reason and reason not in _FINISHES else None,
        )
        self._answer.complete(out, kind, state)


def _usage(usage: Mapping[str, Any], *, costs: bool) -> TokenUsage | None:
    """Return the counts in disjoint buckets: the prompt's count includes what was read from and written to a cache."""
    prompt, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    if prompt is None and output is None:
        return None
    details = record(usage.get("prompt_tokens_details"))
    read = count(details.get("cached_tokens"))
    if read is None:
        read = count(usage.get("prompt_cache_hit_tokens", usage.get("cached_tokens")))
    written = count(details.get("cache_write_tokens"))
    reasoning = count(record(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    given = max((prompt or 0) - (read or 0) - (written or 0), 0)
    return TokenUsage(given, output or 0, read, written, reasoning, _cost(usage) if costs else None)


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return the dollars charged; to a key of the person's own at the provider behind, that provider's charge too."""
    charged = amount(usage.get("cost"))
    if charged is None or usage.get("is_byok") is not True:
        return charged
    behind = amount(record(usage.get("cost_details")).get("upstream_inference_cost"))
    return None if behind is None else charged + behind


def _joined(details: Sequence[JsonValue]) -> list[JsonValue]:
    """Return OpenRouter's reasoning details with the pieces of one detail joined, as they have to go back."""
    joined: list[dict[str, JsonValue]] = []
    for detail in details:
        piece = dict(record(detail))
        last = joined[-1] if joined else None
        if last is None or (piece.get("type"), piece.get("index")) != (last.get("type"), last.get("index")):
            joined.append(piece)
            continue
        for key, value in piece.items():
            grows = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
            if value is not None:
                last[key] = f"{last[key]}{value}" if grows else value
    return list(joined)
