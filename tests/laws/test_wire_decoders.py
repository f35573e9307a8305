"""Whatever a model server sends, a decoder gives one well-formed stream that a strict log takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.base.json_value import freeze
from acp_server.llm.adapter import SseEvent, WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunk_codec import chunk_to_json
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.request import CallConfig, GenerateOptions

PROTOCOLS: tuple[WireProtocol, ...] = (ChatProtocol(), ResponsesProtocol(), AnthropicProtocol())
OPTIONS = GenerateOptions(CallConfig("p", "m"), ())

words = st.sampled_from(["", "a", "é🌍", "\ud83d", "\ude80", "{}", '{"a":', "1}", "x" * 70])
odd = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 3), st.just(2**70), st.floats(), words, st.just([]), st.just({"a": [1]})
)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Give objects with any of the fields, each mostly as it should be."""
    return st.fixed_dictionaries({}, optional={name: st.one_of(field, field, odd) for name, field in fields.items()})


counts = objects(
    prompt_tokens=st.integers(0, 9),
    completion_tokens=st.integers(0, 9),
    prompt_tokens_details=objects(cached_tokens=st.integers(0, 9)),
    input_tokens=st.integers(0, 9),
    output_tokens=st.integers(0, 9),
    cache_read_input_tokens=st.integers(0, 9),
)
errors = st.one_of(words, objects(code=words, type=words, message=words))
calls = objects(
    index=st.integers(0, 2),
    id=st.sampled_from(["", "c1", "c2"]),
    function=objects(name=st.sampled_from(["", "read", "shell"]), arguments=words),
    extra_content=objects(google=words),
)
deltas = objects(
    content=words,
    reasoning_content=words,
    reasoning=words,
    refusal=words,
    tool_calls=st.lists(calls, max_size=2),
    function_call=objects(name=words, arguments=words),
    reasoning_details=st.lists(objects(type=words, text=words, index=st.integers(0, 1)), max_size=2),
)
choices = objects(
    index=st.just(0),
    delta=deltas,
    message=deltas,
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "content_filter", "odd", "error"]),
)
chat = objects(choices=st.lists(choices, max_size=2), usage=counts)

items = objects(
    type=st.sampled_from(["message", "reasoning", "function_call", "web_search_call"]),
    id=st.sampled_from(["i1", "i2"]),
    call_id=words,
    name=words,
    arguments=words,
    encrypted_content=words,
    phase=words,
    summary=st.lists(objects(type=st.just("summary_text"), text=words), max_size=2),
    content=st.lists(objects(type=st.sampled_from(["output_text", "refusal"]), text=words, refusal=words), max_size=2),
)
responses = objects(
    type=st.sampled_from(
        [
            "response.output_text.delta",
            "response.refusal.delta",
            "response.reasoning_summary_text.delta",
            "response.reasoning_text.delta",
            "response.function_call_arguments.delta",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed",
            "response.incomplete",
            "response.failed",
        ]
    ),
    output_index=st.integers(0, 2),
    item_id=st.sampled_from(["i1", "i2"]),
    summary_index=st.integers(0, 1),
    delta=words,
    item=items,
    response=objects(output=st.lists(items, max_size=2), usage=counts, status=words, error=errors),
)
anthropic = objects(
    type=st.sampled_from(
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    ),
    index=st.integers(0, 2),
    message=objects(usage=counts),
    usage=counts,
    content_block=objects(
        type=st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "other"]),
        id=words,
        name=words,
        input=objects(a=words),
        text=words,
        thinking=words,
        signature=words,
        data=words,
    ),
    delta=objects(
        type=st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]),
        text=words,
        thinking=words,
        signature=words,
        partial_json=words,
        stop_reason=st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "odd"]),
    ),
)
payloads = st.one_of(chat, responses, anthropic, objects(error=errors), odd)
events = st.one_of(
    st.builds(SseEvent, st.sampled_from(["message", "error"]), payloads.map(json.dumps)),
    st.builds(SseEvent, st.just("message"), st.sampled_from(["", "[DONE]", "{", "[" * 5000, '{"a": NaN}'])),
)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.path)
@given(stream=st.lists(events, max_size=8))
@settings(max_examples=150, deadline=None)
def test_any_events_give_one_well_formed_stream(protocol: WireProtocol, stream: list[SseEvent]) -> None:
    decoder = protocol.decoder(OPTIONS)
    chunks = [chunk for event in stream for chunk in decoder.feed(event)]
    chunks += decoder.finish()
    assert list(decoder.finish()) == []
    assert list(decoder.feed(SseEvent("message", "{}"))) == []
    assert_well_formed(chunks)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.path)
@given(document=payloads)
@settings(max_examples=150, deadline=None)
def test_any_document_gives_one_well_formed_stream(protocol: WireProtocol, document: Any) -> None:
    assert_well_formed(list(protocol.decoder(OPTIONS).document(document)))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.path)
@given(body=st.one_of(payloads.map(json.dumps).map(str.encode), st.binary()), status=st.integers(400, 599))
@settings(max_examples=100, deadline=None)
def test_any_refusal_is_told_without_a_fault(protocol: WireProtocol, body: bytes, status: int) -> None:
    failure = protocol.failure(status, {}, body)
    assert failure.code
    failure.message.encode()


def assert_well_formed(chunks: list[StreamChunk]) -> None:
    assert [type(chunk) for chunk in chunks].count(FinishChunk) == 1
    assert isinstance(chunks[-1], FinishChunk)
    assert [type(chunk) for chunk in chunks].count(UsageChunk) <= 1
    kinds: dict[int, str] = {}
    texts: dict[int, str] = {}
    ended: set[int] = set()
    for chunk in chunks:
        freeze(chunk_to_json(chunk))
        if isinstance(chunk, UsageChunk | FinishChunk | BlockStart):
            continue
        assert chunk.index not in ended
        kind = type(chunk.block).__name__ if isinstance(chunk, BlockEnd) else KINDS[type(chunk)]
        assert kinds.setdefault(chunk.index, kind) == kind
        if isinstance(chunk, BlockEnd):
            ended.add(chunk.index)
            block = chunk.block
            assert isinstance(block, TextBlock | ReasoningBlock | ToolCallBlock)
            said = block.arguments if isinstance(block, ToolCallBlock) else block.text
            assert texts.get(chunk.index, "") == said
        else:
            piece = chunk.arguments if isinstance(chunk, ToolCallDelta) else chunk.text
            texts[chunk.index] = texts.get(chunk.index, "") + piece
    assert sorted(kinds) == list(range(len(kinds)))
    finish = chunks[-1]
    if finish.failure is None:
        assert ended == set(kinds)
        assemble(chunks)


def assemble(chunks: list[StreamChunk]) -> None:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    ids = [block.id for block in assembler.blocks() if isinstance(block, ToolCallBlock)]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    state = assembler.finish.replay_state
    assert assembler.finish.kind == "max-tokens" or assembler.replay_state == state


KINDS = {TextDelta: "TextBlock", ReasoningDelta: "ReasoningBlock", ToolCallDelta: "ToolCallBlock"}
