"""Requests as Chat Completions takes them (docs/llm.md, clauses W-5 to W-8).

Owns the body: one message for each entry of the conversation, results directly after their calls, no empty message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapters import tool_schema
from acp_server.llm.adapters.arguments import argument_text
from acp_server.llm.adapters.call_ids import short_id
from acp_server.llm.adapters.chat.dialects import Dialect
from acp_server.llm.adapters.exchange import Call, Said, Spoken, exchanges, result_content
from acp_server.llm.adapters.images import ImageLoader, absent
from acp_server.llm.adapters.replay import state_of
from acp_server.llm.adapters.wire_json import record, text
from acp_server.messages.blocks import ImageBlock, ReasoningBlock, TextBlock, text_of
from acp_server.messages.request import GenerateOptions

PROTOCOL = "chat"
REASONING_FIELDS = ("reasoning_content", "reasoning")


def encode(options: GenerateOptions, dialect: Dialect, images: ImageLoader) -> dict[str, JsonValue]:
    """Return the body of a streaming request; what grows stands last.

    Raises:
        LlmError: UNSUPPORTED_OPTION, a tool that cannot be offered.
    """
    config = options.config
    body: dict[str, JsonValue] = {"model": config.model}
    if options.tools:
        dropped = tool_schema.ANNOTATIONS | dialect.dropped_keywords
        body["tools"] = [
            {"type": "function", "function": tool_schema.as_object(tool, dropped)} for tool in options.tools
        ]
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if config.max_tokens is not None:
        body[dialect.max_tokens_field] = config.max_tokens
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.stop:
        body["stop"] = list(config.stop)
    body |= _effort(options, dialect)
    if dialect.cache_key and options.session_id:
        body["prompt_cache_key"] = options.session_id
    return {**body, "messages": list(_messages(options, dialect, images))}


def _effort(options: GenerateOptions, dialect: Dialect) -> dict[str, JsonValue]:
    effort = options.config.reasoning_effort
    if dialect.effort == "thinking" and options.purpose == "session-title":
        effort = "off"
    if effort is None:
        return {}
    off = effort in ("off", "none")
    match dialect.effort:
        case "thinking":
            return {"thinking": {"type": "disabled"}} if off else _thinking(effort)
        case "reasoning":
            return {"reasoning": {"enabled": False} if off else {"effort": effort}}
        case "switch":
            return {"enable_thinking": False} if off else {"enable_thinking": True, "reasoning_effort": effort}
        case "template":
            asked: dict[str, JsonValue] = {} if off else {"reasoning_effort": effort}
            return {**asked, "chat_template_kwargs": {"enable_thinking": not off}}
        case "toggle" if off or effort == "on":
            return {"thinking": {"type": "disabled" if off else "enabled"}}
        case "effort" | "toggle":
            return {"reasoning_effort": "none" if off else effort}


def _thinking(effort: str) -> dict[str, JsonValue]:
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


def _messages(options: GenerateOptions, dialect: Dialect, images: ImageLoader) -> Iterator[JsonValue]:
    if options.system:
        yield {"role": "system", "content": options.system}
    for entry in exchanges(options.messages, short_id):
        if isinstance(entry, Said):
            yield from _said(entry, images)
            continue
        message = _spoken(entry, options, dialect)
        if message is not None:
            yield message
        yield from _results(entry.calls, images)


def _said(entry: Said, images: ImageLoader) -> Iterator[JsonValue]:
    if entry.role == "system":
        yield {"role": "system", "content": text_of(entry.content)}
    else:
        yield {"role": "user", "content": _content(entry.content, images)}


def _content(content: Sequence[TextBlock | ImageBlock], images: ImageLoader) -> JsonValue:
    if all(isinstance(block, TextBlock) for block in content):
        return text_of(tuple(content))
    return [_part(block, images) for block in content]


def _part(block: TextBlock | ImageBlock, images: ImageLoader) -> JsonValue:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    data = images(block)
    if data is None:
        return {"type": "text", "text": absent(block)}
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{data}"}}


def _spoken(entry: Spoken, options: GenerateOptions, dialect: Dialect) -> JsonValue:
    """Return the model's message, or None when nothing of it can be sent."""
    content = entry.message.content
    message: dict[str, JsonValue] = {"role": "assistant", "content": text_of(content)}
    state = state_of(entry.message, PROTOCOL, options.config)
    reasoning = "".join(block.text for block in content if isinstance(block, ReasoningBlock))
    if dialect.always_reasoning:
        if reasoning or entry.calls:
            message["reasoning_content"] = reasoning or dialect.no_reasoning
    elif details := state.get("reasoning_details"):
        message["reasoning_details"] = details
    elif reasoning and text(state.get("reasoning")) in REASONING_FIELDS:
        message[text(state.get("reasoning"))] = reasoning
    if entry.calls:
        extras = record(state.get("extra_content"))
        message["tool_calls"] = [_call(call, extras.get(call.block.id)) for call in entry.calls]
    elif len(message) == 2 and not message["content"]:
        return None
    return message


def _call(call: Call, extra: JsonValue) -> JsonValue:
    function = {"name": call.block.name, "arguments": argument_text(call.block.arguments)}
    wire: dict[str, JsonValue] = {"id": call.id, "type": "function", "function": function}
    return {**wire, "extra_content": extra} if extra else wire


def _results(calls: Sequence[Call], images: ImageLoader) -> Iterator[JsonValue]:
    """Yield the results; their images follow in one user message, since a tool message holds only text."""
    shown: list[JsonValue] = []
    for call in calls:
        content = result_content(call.result)
        pictures = [block for block in content if isinstance(block, ImageBlock)]
        words = text_of(content) or f"(see the {len(pictures)} image(s) below)"
        yield {"role": "tool", "tool_call_id": call.id, "content": words}
        if pictures:
            shown.append({"type": "text", "text": f"Images of the result of {call.block.name} ({call.id}):"})
            shown += [_part(picture, images) for picture in pictures]
    if shown:
        yield {"role": "user", "content": shown}
