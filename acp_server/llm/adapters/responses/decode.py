"""Answers of Responses, streamed or whole, as neutral chunks (docs/llm.md, clauses W-10 and W-12).

An item comes up to four times: as deltas, as its own end, and in the response's end. Each text is given once: what the
later forms add to the earlier ones is given, what they repeat is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapter import SseEvent
from acp_server.llm.adapters.answer import Answer
from acp_server.llm.adapters.call_ids import CallIds
from acp_server.llm.adapters.faults import malformed, told
from acp_server.llm.adapters.replay import replay_state
from acp_server.llm.adapters.responses.items import Items, parts_text
from acp_server.llm.adapters.wire_json import count, record, rows, text
from acp_server.messages.chunks import FinishKind, StreamChunk, TokenUsage
from acp_server.messages.request import GenerateOptions

_INCOMPLETE: Final[Mapping[str, FinishKind]] = {
    "max_output_tokens": "max-tokens",
    "max_tokens": "max-tokens",
    "content_filter": "refusal",
}
_ENDS: Final = frozenset({"response.completed", "response.done", "response.incomplete", "response.failed"})


class ResponsesDecoder:
    """One answer's decoder."""

    __slots__ = ("_answer", "_items", "_refused")

    def __init__(self, options: GenerateOptions) -> None:
        self._answer = Answer()
        self._items = Items(self._answer, CallIds(options.messages))
        self._refused = False

    @property
    def ended(self) -> bool:
        """See Decoder: the event that says why is the last one."""
        return self._answer.done

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
        """Return the chunks of a whole response, or of an error document."""
        out: list[StreamChunk] = []
        document = record(body)
        if document.get("error"):
            self._answer.fail(out, told(document["error"]))
        elif "output" in document or "status" in document:
            self._end(out, document)
        else:
            self._answer.fail(out, told(document) if "message" in document else malformed(str(body)))
        return out

    def finish(self) -> Sequence[StreamChunk]:
        """Return what is left when the body has ended; without the response's end it was cut."""
        out: list[StreamChunk] = []
        if not self._answer.done:
            self._answer.break_off(out)
        return out

    def _take(self, out: list[StreamChunk], kind: str, payload: dict[str, Any]) -> None:
        if kind == "response.output_text.delta":
            self._items.write(out, payload, "text", text(payload.get("delta")))
        elif kind == "response.function_call_arguments.delta":
            self._items.write(out, payload, "tool-call", text(payload.get("delta")))
        elif kind == "response.reasoning_summary_text.delta":
            self._items.think(out, payload, payload.get("summary_index"))
        elif kind == "response.reasoning_text.delta":
            self._items.think(out, payload, payload.get("content_index"))
        elif kind == "response.refusal.delta":
            self._refused = True
            self._items.write(out, payload, "text", text(payload.get("delta")))
        elif kind == "response.output_item.added":
            self._items.add(out, payload, record(payload.get("item")))
        elif kind == "response.output_item.done":
            self._items.end(out, payload, record(payload.get("item")))
        elif kind in _ENDS:
            self._end(out, record(payload.get("response")), failed=kind == "response.failed")
        elif kind == "error" or payload.get("error"):
            self._answer.fail(out, told(payload.get("error") or payload))

    def _end(self, out: list[StreamChunk], response: Mapping[str, Any], *, failed: bool = False) -> None:
        usage, status = _usage(record(response.get("usage"))), response.get("status")
        if failed or status in ("failed", "cancelled"):
            self._answer.count(out, usage)
            self._answer.fail(out, told(response.get("error") or {"message": f"The response ended as {status}."}))
            return
        for place, item in enumerate(rows(response.get("output"))):
            self._items.end(out, {"output_index": place}, record(item), last=True)
            self._refused |= bool(parts_text(record(item).get("content"), "refusal"))
        self._answer.count(out, usage)
        kind: FinishKind = "refusal" if self._refused else "stop"
        reason = record(response.get("incomplete_details")).get("reason")
        if status == "incomplete" or reason:
            kind = _INCOMPLETE.get(text(reason), "max-tokens")
        self._answer.complete(out, kind, replay_state("responses", blocks=self._answer.replay_blocks()))


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return the counts in disjoint buckets: the input's count includes what was read from a cache."""
    given, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if given is None and output is None:
        return None
    read = count(record(usage.get("input_tokens_details")).get("cached_tokens"))
    reasoning = count(record(usage.get("output_tokens_details")).get("reasoning_tokens"))
    return TokenUsage(max((given or 0) - (read or 0), 0), output or 0, read, None, reasoning)
