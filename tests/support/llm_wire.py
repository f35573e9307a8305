"""The three protocols of model servers as the mock speaks them: requests read into one shape, answers written out.

Pure: bytes and objects in, bytes and objects out. Each protocol gives the same neutral answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.llm_script import Protocol, pieces
from tests.support.trace import Obj

ENDS: dict[str, Protocol] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
}
"""By the end of the path, so that any base URL does."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an answer; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """A neutral answer made ready for any protocol. Usage is in tokens; `input` holds the cached ones too."""

    reasoning: str
    text: str
    chunks: int
    calls: Sequence[Call]
    finish: str
    input: int
    output: int
    cached: int


def protocol_of(path: str) -> Protocol | None:
    """Return the protocol that is spoken at this path."""
    plain = path.partition("?")[0]
    return next((protocol for end, protocol in ENDS.items() if plain.endswith(end)), None)


def overflow(protocol: Protocol) -> Obj:
    """Return the body of the error for a prompt beyond the window; its status is 400."""
    if protocol == "anthropic":
        text = "prompt is too long: 250000 tokens > 200000 maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    text = (
        "This model's maximum context length is 32000 tokens. However, your messages are longer. "
        "Please reduce the length of the messages."
    )
    param = "messages" if protocol == "chat" else "input"
    code = "context_length_exceeded"
    return {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}


# -- requests, in the shape of Chat Completions


def messages_of(protocol: Protocol, body: Obj) -> list[Obj]:
    """Return the conversation of a request."""
    read: dict[Protocol, Callable[[Obj], list[Obj]]] = {
        "chat": lambda b: [m for m in b.get("messages") or [] if isinstance(m, dict)],
        "responses": _responses_messages,
        "anthropic": _anthropic_messages,
    }
    return read[protocol](body)


def _call(ident: object, name: object, arguments: str) -> Obj:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def _responses_messages(body: Obj) -> list[Obj]:
    out: list[Obj] = []
    if body.get("instructions"):
        out.append({"role": "system", "content": body["instructions"]})
    given = body.get("input")
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given or []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            out.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")})
        elif kind == "message" and item.get("role") != "assistant":
            out.append({"role": item.get("role"), "content": item.get("content")})
        else:
            _responses_said(out, kind, item)
    return out


def _responses_said(out: list[Obj], kind: str, item: Obj) -> None:
    """Add an assistant's item to the assistant message that is last, or begin one."""
    if not out or out[-1]["role"] != "assistant":
        out.append({"role": "assistant", "content": ""})
    message = out[-1]
    if kind == "message":
        parts = item.get("content")
        message["content"] += parts if isinstance(parts, str) else "".join(p.get("text", "") for p in parts or [])
    elif kind == "reasoning":
        text = "".join(p.get("text", "") for p in item.get("summary") or [])
        message["reasoning_content"] = message.get("reasoning_content", "") + (text or "reasoned")
    elif kind == "function_call":
        call = _call(item.get("call_id"), item.get("name"), item.get("arguments", ""))
        message.setdefault("tool_calls", []).append(call)


def _anthropic_messages(body: Obj) -> list[Obj]:
    out: list[Obj] = []
    if body.get("system"):
        out.append({"role": "system", "content": body["system"]})
    for message in body.get("messages") or []:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") == "assistant":
            out.append(_anthropic_said(blocks))
        else:
            out += _anthropic_heard(blocks)
    return out


def _anthropic_said(blocks: list[Obj]) -> Obj:
    said: Obj = {"role": "assistant", "content": "".join(b["text"] for b in blocks if b.get("type") == "text")}
    thoughts = [b for b in blocks if b.get("type") in {"thinking", "redacted_thinking"}]
    if thoughts:
        said["reasoning_content"] = "".join(b.get("thinking", "") for b in thoughts) or "reasoned"
    calls = [b for b in blocks if b.get("type") == "tool_use"]
    if calls:
        said["tool_calls"] = [_call(b.get("id"), b.get("name"), json.dumps(b.get("input"))) for b in calls]
    return said


def _anthropic_heard(blocks: list[Obj]) -> list[Obj]:
    results = [b for b in blocks if b.get("type") == "tool_result"]
    rest = [b for b in blocks if b.get("type") != "tool_result"]
    heard = [{"role": "tool", "tool_call_id": b.get("tool_use_id"), "content": b.get("content")} for b in results]
    return heard + ([{"role": "user", "content": rest}] if rest or not results else [])


# -- answers


def stream(protocol: Protocol, said: Said) -> tuple[list[bytes], list[bytes]]:
    """Return the streamed answer: the events before its end, between which pauses may come, and its end."""
    write: dict[Protocol, Callable[[Said], tuple[list[bytes], list[bytes]]]] = {
        "chat": _chat,
        "responses": _responses,
        "anthropic": _anthropic,
    }
    return write[protocol](said)


def data(value: Any) -> bytes:
    """Return an unnamed event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def named(value: Obj) -> bytes:
    """Return an event named after its type."""
    return b"event: " + str(value["type"]).encode() + b"\n" + data(value)


def _chat(said: Said) -> tuple[list[bytes], list[bytes]]:
    def chunk(**fields: Any) -> bytes:
        return data({"id": "c", "object": "chat.completion.chunk", "model": "mock", **fields})

    deltas: list[Obj] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": said.reasoning}] if said.reasoning else []
    deltas += [{"content": piece} for piece in pieces(said.text, said.chunks)] if said.text else []
    for n, call in enumerate(said.calls):
        deltas.append({"tool_calls": [{"index": n, **_call(call.id, call.name, call.arguments)}]})
    steps = [chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": said.finish}])
    return steps, [last, chunk(choices=[], usage=_chat_usage(said)), b"data: [DONE]\n\n"]


def _chat_usage(said: Said) -> Obj:
    return {
        "prompt_tokens": said.input,
        "completion_tokens": said.output,
        "total_tokens": said.input + said.output,
        "prompt_tokens_details": {"cached_tokens": said.cached},
    }


def chat_document(said: Said) -> Obj:
    """Return the answer to a request of Chat Completions that does not ask for a stream."""
    calls = [_call(c.id, c.name, c.arguments) for c in said.calls]
    message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": _chat_usage(said)}


def _responses(said: Said) -> tuple[list[bytes], list[bytes]]:
    steps = [named({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}})]
    output: list[Obj] = []
    for item, inner in _responses_items(said):
        place = {"output_index": len(output)}
        bare: Obj = {"content": [], "summary": [], "arguments": ""}
        begun = {key: bare.get(key, value) for key, value in item.items()}
        steps.append(named({"type": "response.output_item.added", **place, "item": begun}))
        steps += [named({"type": kind, "item_id": item["id"], **place, **fields}) for kind, fields in inner]
        steps.append(named({"type": "response.output_item.done", **place, "item": item}))
        output.append(item)
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    status = "incomplete" if said.finish in reasons else "completed"
    response: Obj = {"id": "r", "status": status, "output": output, "usage": _responses_usage(said)}
    if status == "incomplete":
        response["incomplete_details"] = {"reason": reasons[said.finish]}
    return steps, [named({"type": f"response.{status}", "response": response})]


def _responses_items(said: Said) -> Iterator[tuple[Obj, list[tuple[str, Obj]]]]:
    """Give each finished item with the events inside it."""
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        delta = ("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": said.reasoning})
        yield {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "sealed"}, [delta]
    if said.text:
        part: Obj = {"type": "output_text", "text": said.text, "annotations": []}
        deltas: list[tuple[str, Obj]] = [
            ("response.output_text.delta", {"content_index": 0, "delta": piece})
            for piece in pieces(said.text, said.chunks)
        ]
        yield {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}, deltas
    for n, call in enumerate(said.calls):
        item = {"type": "function_call", "id": f"fc_{n}", "call_id": call.id, "name": call.name}
        given = ("response.function_call_arguments.delta", {"delta": call.arguments})
        yield {**item, "arguments": call.arguments}, [given]


def _responses_usage(said: Said) -> Obj:
    return {
        "input_tokens": said.input,
        "input_tokens_details": {"cached_tokens": said.cached},
        "output_tokens": said.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": said.input + said.output,
    }


def _anthropic(said: Said) -> tuple[list[bytes], list[bytes]]:
    usage: Obj = {
        "input_tokens": said.input - said.cached,
        "cache_read_input_tokens": said.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    message: Obj = {"id": "m", "type": "message", "role": "assistant", "model": "mock", "content": [], "usage": usage}
    steps = [named({"type": "message_start", "message": {**message, "stop_reason": None}})]
    for index, (block, deltas) in enumerate(_anthropic_blocks(said)):
        steps.append(named({"type": "content_block_start", "index": index, "content_block": block}))
        steps += [named({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
        steps.append(named({"type": "content_block_stop", "index": index}))
    reasons = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
    delta = {"stop_reason": reasons.get(said.finish, said.finish), "stop_sequence": None}
    last = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": said.output}}
    return steps, [named(last), named({"type": "message_stop"})]


def _anthropic_blocks(said: Said) -> Iterator[tuple[Obj, list[Obj]]]:
    if said.reasoning:
        thought = {"type": "thinking_delta", "thinking": said.reasoning}
        sign = {"type": "signature_delta", "signature": "signed"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [thought, sign]
    if said.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in pieces(said.text, said.chunks)]
    for call in said.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": call.arguments}]
