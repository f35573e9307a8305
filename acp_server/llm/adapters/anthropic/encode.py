"""Requests as Messages takes them (docs/llm.md, clauses W-5, W-6, W-13).

Owns the body: all results of one answer in one user message, thinking with its signature in its place, marks for the
prompt cache. Words of the system inside the conversation become the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapters.anthropic.images import Images
from acp_server.llm.adapters.anthropic.other_blocks import with_others
from acp_server.llm.adapters.anthropic.thinking import thinking
from acp_server.llm.adapters.arguments import argument_object
from acp_server.llm.adapters.call_ids import strict_id
from acp_server.llm.adapters.exchange import Call, Said, Spoken, exchanges, result_content
from acp_server.llm.adapters.facts import ModelFacts
from acp_server.llm.adapters.images import ImageLoader
from acp_server.llm.adapters.replay import blocks_of, state_of
from acp_server.llm.adapters.tool_schema import parameters
from acp_server.messages.blocks import Block, ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.request import GenerateOptions, ToolSchema

PROTOCOL: Final = "anthropic"
DEFAULT_MAX_TOKENS: Final = 32_000
"""What is asked for when neither the request nor the catalogue says; the protocol wants a number."""

_CACHED: Final[JsonObject] = {"type": "ephemeral"}


def encode(options: GenerateOptions, images: ImageLoader, facts: ModelFacts) -> dict[str, JsonValue]:
    """Return the body of a streaming request; what grows stands last.

    Raises:
        LlmError: UNSUPPORTED_OPTION, a temperature beside thinking, or a tool that cannot be offered.
    """
    config, known = options.config, facts(options.config.model)
    limit = config.max_tokens or (known.max_output_tokens if known is not None else None) or DEFAULT_MAX_TOKENS
    body: dict[str, JsonValue] = {"model": config.model, "max_tokens": limit}
    if options.system:
        body["system"] = [{"type": "text", "text": options.system, "cache_control": _CACHED}]
    if options.tools:
        body["tools"] = _tools(options.tools)
    body["stream"] = True
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.stop:
        body["stop_sequences"] = list(config.stop)
    messages = list(_messages(options, Images(options, images)))
    return {**body, **thinking(config, limit), "messages": messages}


def _tools(tools: Sequence[ToolSchema]) -> list[JsonValue]:
    offered: list[dict[str, JsonValue]] = [
        {"name": tool.name, "description": tool.description, "input_schema": parameters(tool)} for tool in tools
    ]
    offered[-1]["cache_control"] = _CACHED
    return list(offered)


def _messages(options: GenerateOptions, images: Images) -> Iterator[JsonValue]:
    """Yield the messages, two of the user's with a mark; with the system's and the tools' that makes the most, four."""
    turns = list(_turns(options, images))
    newest = _last(turns, "user", len(turns))
    # The newest of the request before came before the newest answer: what the cache holds is found by its mark.
    marked = {newest, _last(turns, "user", _last(turns, "assistant", newest))}
    for place, (role, content) in enumerate(turns):
        if place in marked:
            content[-1]["cache_control"] = _CACHED
        yield {"role": role, "content": content}


def _last(turns: Sequence[tuple[str, object]], role: str, before: int) -> int:
    """Return the place of the role's last turn before that place, or -1."""
    return next((place for place in range(before - 1, -1, -1) if turns[place][0] == role), -1)


def _turns(options: GenerateOptions, images: Images) -> Iterator[tuple[str, list[dict[str, JsonValue]]]]:
    for entry in exchanges(options.messages, strict_id):
        if isinstance(entry, Said):
            if content := _content(entry.content, images):
                yield "user", content
            continue
        if spoken := _spoken(entry, options):
            yield "assistant", spoken
        if entry.calls:
            yield "user", [_result(call, images) for call in entry.calls]


def _content(content: Sequence[TextBlock | ImageBlock], images: Images) -> list[dict[str, JsonValue]]:
    """Return the parts; blank text, which the protocol refuses, is left out."""
    return [_part(block, images) for block in content if not isinstance(block, TextBlock) or not _is_blank(block.text)]


def _part(block: TextBlock | ImageBlock, images: Images) -> dict[str, JsonValue]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return images.part(block)


def _spoken(entry: Spoken, options: GenerateOptions) -> list[dict[str, JsonValue]]:
    """Return the answer's blocks; thinking at the end is left out, since the protocol refuses it there."""
    calls = iter(entry.calls)
    entries = blocks_of(entry.message, PROTOCOL, options.config)
    wires = [_block(block, replay, calls) for block, replay in zip(entry.message.content, entries, strict=True)]
    blocks = list(with_others(wires, state_of(entry.message, PROTOCOL, options.config)))
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()
    return blocks


def _block(block: Block, replay: JsonObject, calls: Iterator[Call]) -> dict[str, JsonValue] | None:
    if isinstance(block, TextBlock) and not _is_blank(block.text):
        return {"type": "text", "text": block.text}
    if isinstance(block, ReasoningBlock):
        if replay.get("data"):
            return {"type": "redacted_thinking", "data": replay["data"]}
        if replay.get("signature"):
            return {"type": "thinking", "thinking": block.text, "signature": replay["signature"]}
    if isinstance(block, ToolCallBlock):
        arguments = argument_object(block.arguments)
        return {"type": "tool_use", "id": next(calls).id, "name": block.name, "input": arguments}
    return None


def _result(call: Call, images: Images) -> dict[str, JsonValue]:
    content = _content(result_content(call.result), images)
    wire: dict[str, JsonValue] = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return {**wire, "is_error": True} if call.result.is_error else wire


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
