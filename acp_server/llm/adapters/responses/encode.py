"""Requests as Responses takes them (docs/llm.md, clauses W-5, W-6, W-12).

Nothing is stored by the server: each request carries the whole conversation, and encrypted reasoning goes back in its
place. Items go back without ids, which would name what the server did not keep; reasoning keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapters.arguments import argument_text
from acp_server.llm.adapters.call_ids import strict_id
from acp_server.llm.adapters.exchange import Call, Said, Spoken, exchanges, result_content
from acp_server.llm.adapters.facts import ModelFacts
from acp_server.llm.adapters.images import ImageLoader, absent
from acp_server.llm.adapters.replay import blocks_of
from acp_server.llm.adapters.tool_schema import as_object
from acp_server.llm.failure import LlmError
from acp_server.messages.blocks import Block, ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock, text_of
from acp_server.messages.request import GenerateOptions

PROTOCOL = "responses"


def encode(
    options: GenerateOptions, images: ImageLoader, facts: ModelFacts, summary: str | None
) -> dict[str, JsonValue]:
    """Return the body of a streaming request; `summary` is the kind of reasoning summary to ask for.

    What grows stands last.

    Raises:
        LlmError: UNSUPPORTED_OPTION, stop words, or a tool that cannot be offered.
    """
    config = options.config
    if config.stop:
        raise LlmError("UNSUPPORTED_OPTION", "The Responses protocol has no stop words.")
    body: dict[str, JsonValue] = {"model": config.model}
    if options.system:
        body["instructions"] = options.system
    if options.tools:
        body["tools"] = [{"type": "function", **as_object(tool), "strict": False} for tool in options.tools]
    body |= {"stream": True, "store": False}
    if config.max_tokens is not None:
        body["max_output_tokens"] = config.max_tokens
    if config.temperature is not None:
        body["temperature"] = config.temperature
    body |= _reasoning(options, facts, summary)
    if options.session_id:
        body["prompt_cache_key"] = options.session_id
    return {**body, "input": list(_items(options, images))}


def _reasoning(options: GenerateOptions, facts: ModelFacts, summary: str | None) -> dict[str, JsonValue]:
    """Return what asks for reasoning; models known not to reason refuse even the wish to include it."""
    effort, known = options.config.reasoning_effort, facts(options.config.model)
    if effort is None and known is not None and not known.efforts:
        return {}
    wishes: dict[str, JsonValue] = {}
    if effort is not None:
        wishes["effort"] = "none" if effort == "off" else effort
    if summary is not None and (effort is not None or known is not None) and wishes.get("effort") != "none":
        wishes["summary"] = summary
    asked: dict[str, JsonValue] = {"include": ["reasoning.encrypted_content"]}
    return {**asked, "reasoning": wishes} if wishes else asked


def _items(options: GenerateOptions, images: ImageLoader) -> Iterator[JsonValue]:
    for entry in exchanges(options.messages, strict_id):
        if isinstance(entry, Said):
            role = "developer" if entry.role == "system" else "user"
            yield {"type": "message", "role": role, "content": _parts(entry.content, images)}
            continue
        yield from _spoken(entry, options)
        for call in entry.calls:
            yield {"type": "function_call_output", "call_id": call.id, "output": _output(call, images)}


def _parts(content: Sequence[TextBlock | ImageBlock], images: ImageLoader) -> list[JsonValue]:
    return [_part(block, images) for block in content]


def _part(block: TextBlock | ImageBlock, images: ImageLoader) -> JsonValue:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text}
    data = images(block)
    if data is None:
        return {"type": "input_text", "text": absent(block)}
    return {"type": "input_image", "image_url": f"data:{block.media_type};base64,{data}", "detail": "auto"}


def _spoken(entry: Spoken, options: GenerateOptions) -> list[JsonValue]:
    """Return the answer's items; reasoning at the end is left out, since the server refuses it without a successor."""
    calls = iter(entry.calls)
    entries = blocks_of(entry.message, PROTOCOL, options.config)
    items = [
        item
        for block, replay in zip(entry.message.content, entries, strict=True)
        if (item := _item(block, replay, calls)) is not None
    ]
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return list(items)


def _item(block: Block, replay: JsonObject, calls: Iterator[Call]) -> JsonObject | None:
    if isinstance(block, TextBlock) and block.text:
        phase = {"phase": replay["phase"]} if replay.get("phase") else {}
        return {"type": "message", "role": "assistant", "content": block.text, **phase}
    if isinstance(block, ReasoningBlock) and replay.get("encrypted_content"):
        return replay
    if isinstance(block, ToolCallBlock):
        arguments = argument_text(block.arguments)
        return {"type": "function_call", "call_id": next(calls).id, "name": block.name, "arguments": arguments}
    return None


def _output(call: Call, images: ImageLoader) -> JsonValue:
    content = result_content(call.result)
    if any(isinstance(block, ImageBlock) for block in content):
        return _parts(content, images)
    return text_of(content)
