"""Whatever a conversation holds, a request is one that providers take, and a longer conversation begins the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    ModelSource,
    OpaqueBlock,
    ReasoningBlock,
    Source,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserSource,
)
from acp_server.messages.request import CallConfig, GenerateOptions

CHAT = ChatProtocol()
DEEPSEEK = ChatProtocol(DIALECTS["deepseek"])
RESPONSES = ResponsesProtocol()
ANTHROPIC = AnthropicProtocol()
KIMI = ChatProtocol(DIALECTS["kimi"])
PROTOCOLS: tuple[WireProtocol, ...] = (CHAT, DEEPSEEK, KIMI, RESPONSES, ANTHROPIC)
CONFIG = CallConfig("p", "m")

words = st.sampled_from(["", " ", "a", "two words", "é🌍"])
ids = st.sampled_from(["c1", "c2", "functions.read:0", "x" * 70, ""])
arguments = st.sampled_from(["", "{}", '{"a":1}', "{", "[]", "null", '{"a":NaN}', '{"a":"\\ud83d"}', '{"a":"é"}'])
image = ImageBlock("sha256:0", "image/png", 1, 1, 1)
plain = st.one_of(st.builds(TextBlock, words), st.just(image), st.just(OpaqueBlock("later", {"type": "later"})))
results = st.builds(ToolResultBlock, ids, st.lists(plain, max_size=2).map(tuple), st.booleans())
spoken = st.one_of(
    st.builds(TextBlock, words),
    st.builds(ReasoningBlock, words),
    st.builds(ToolCallBlock, ids, st.just("read"), arguments),
)
entries = st.sampled_from(
    [
        None,
        {"signature": "s"},
        {"data": "d"},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
        {"phase": "commentary"},
    ]
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[tuple[Block, ...], Source]:
    content = tuple(draw(st.lists(spoken, max_size=4)))
    blocks = draw(st.lists(entries, min_size=len(content), max_size=len(content)))
    protocol = draw(st.sampled_from(["chat", "responses", "anthropic"]))
    state: dict[str, Any] = {"protocol": protocol, "version": 1, "blocks": blocks, "reasoning": "reasoning_content"}
    return content, ModelSource("p", draw(st.sampled_from(["m", "other"])), draw(st.sampled_from([None, state])))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            content, source = draw(answers())
            messages.append(Message(f"m{number}", "assistant", content, source))
        else:
            said = tuple(draw(st.lists(st.one_of(plain, results), max_size=3)))
            messages.append(Message(f"m{number}", draw(st.sampled_from(["user", "system"])), said, UserSource()))
    return tuple(messages)


def body_of(protocol: WireProtocol, messages: Sequence[Message]) -> dict[str, Any]:
    body = protocol.encode(GenerateOptions(CONFIG, tuple(messages)))
    read: dict[str, Any] = json.loads(json.dumps(body, ensure_ascii=False, allow_nan=False).encode())
    return read


@given(messages=conversations())
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("protocol", [CHAT, DEEPSEEK, KIMI], ids=["generic", "deepseek", "kimi"])
def test_chat_completions_pairs_calls_and_results_and_sends_nothing_empty(
    protocol: WireProtocol, messages: tuple[Message, ...]
) -> None:
    seen: set[str] = set()
    due: list[str] = []
    for message in body_of(protocol, messages)["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            assert message["content"]
            continue
        assert due == []
        calls = message.get("tool_calls", [])
        assert message["content"] is not None
        assert message["content"] or calls or message.get("reasoning_content")
        assert protocol is not KIMI or not calls or message["reasoning_content"]
        for call in calls:
            due.append(call["id"])
            assert call["id"]
            assert call["id"] not in seen
            seen.add(call["id"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert due == []


@given(messages=conversations())
@settings(max_examples=100, deadline=None)
def test_responses_pairs_calls_and_outputs_and_ends_no_answer_with_reasoning(messages: tuple[Message, ...]) -> None:
    seen: set[str] = set()
    due: list[str] = []
    before: Mapping[str, Any] = {}
    for item in [*body_of(RESPONSES, messages)["input"], {"type": "message", "role": "user", "content": "end"}]:
        if item["type"] == "function_call":
            assert item["call_id"] not in seen
            seen.add(item["call_id"])
            due.append(item["call_id"])
            assert isinstance(json.loads(item["arguments"]), dict)
        elif item["type"] == "function_call_output":
            assert item["call_id"] == due.pop(0)
            assert item["output"]
        elif item["type"] == "message":
            assert item["content"]
            assert item["role"] == "assistant" or due == []
        if before.get("type") == "reasoning":
            assert item["type"] in ("reasoning", "function_call") or item.get("role") == "assistant"
        before = item
    assert due == []


@given(messages=conversations())
@settings(max_examples=100, deadline=None)
def test_messages_groups_results_and_sends_no_blank_text_and_no_last_thinking(messages: tuple[Message, ...]) -> None:
    due: list[str] = []
    for message in body_of(ANTHROPIC, messages)["messages"]:
        assert message["content"]
        for block in message["content"]:
            assert block["type"] != "text" or block["text"].strip()
            assert block["type"] != "tool_use" or isinstance(block["input"], dict)
        given_back = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert given_back == due
        due = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert message["role"] == "user" or message["content"][-1]["type"] in ("text", "tool_use")
    assert due == []


@st.composite
def growing(draw: st.DrawFn) -> tuple[tuple[Message, ...], int]:
    """Give a conversation and a place where a request was made of it: every call had its result."""
    messages: list[Message] = []
    places = [0]
    for number in range(draw(st.integers(1, 5))):
        asked = tuple(draw(st.lists(plain, max_size=2)))
        messages.append(Message(f"u{number}", "user", asked, UserSource()))
        places.append(len(messages))
        content, source = draw(answers())
        messages.append(Message(f"a{number}", "assistant", content, source))
        for block in draw(st.permutations([block for block in content if isinstance(block, ToolCallBlock)])):
            result = ToolResultBlock(block.id, tuple(draw(st.lists(plain, max_size=1))))
            messages.append(Message(f"r{len(messages)}", "user", (result,), UserSource()))
        places.append(len(messages))
    return tuple(messages), draw(st.sampled_from(places))


@given(grown=growing())
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=["generic", "deepseek", "kimi", "responses", "anthropic"])
def test_a_longer_conversation_begins_with_the_shorter_one(
    protocol: WireProtocol, grown: tuple[tuple[Message, ...], int]
) -> None:
    messages, place = grown
    key = "input" if protocol is RESPONSES else "messages"
    shorter = unmarked(body_of(protocol, messages[:place])[key])
    longer = unmarked(body_of(protocol, messages)[key])
    assert longer[: len(shorter)] == shorter


def unmarked(value: Any) -> Any:
    """Return the messages without the marks of the prompt cache, which move with the newest message."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value
