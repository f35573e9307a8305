from __future__ import annotations

from typing import Any

import pytest

from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.messages.blocks import Message, ModelSource, ReasoningBlock, TextBlock, ToolCallBlock, UserSource
from acp_server.messages.chunks import FinishChunk, TokenUsage, UsageChunk
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.unit.llm.decoding import blocks, decode, document, failure

ANTHROPIC = AnthropicProtocol()


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def end(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}


def test_redacted_and_wordless_thinking_hold_their_places() -> None:
    chunks = decode(
        ANTHROPIC,
        [
            start(0, type="redacted_thinking", data="cmVk"),
            {"type": "content_block_stop", "index": 0},
            start(1, type="thinking", thinking="", signature=""),
            delta(1, "signature_delta", signature="c2"),
            delta(1, "signature_delta", signature="ln"),
            start(2, type="text", text="Yes"),
            delta(2, "text_delta", text="."),
            end("end_turn"),
            STOP,
        ],
    )
    assert sorted(blocks(chunks), key=str) == [ReasoningBlock(""), ReasoningBlock(""), TextBlock("Yes.")]
    state: Any = {"protocol": "anthropic", "version": 1, "blocks": [{"data": "cmVk"}, {"signature": "c2ln"}, None]}
    assert chunks[-1] == FinishChunk("stop", None, state)


def test_a_calls_input_may_come_at_its_start_and_servers_own_blocks_are_passed_over() -> None:
    chunks = decode(
        ANTHROPIC,
        [
            start(0, type="server_tool_use", id="s", name="web_search"),
            delta(0, "input_json_delta", partial_json="{}"),
            start(1, type="tool_use", id="t", name="read", input={"path": "é"}),
            end("tool_use"),
        ],
    )
    assert blocks(chunks) == [ToolCallBlock("t", "read", '{"path": "é"}')]
    assert chunks[-1] == FinishChunk("tool-calls")


def test_what_the_providers_own_tools_did_goes_back_after_a_pause() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]}
    events = [
        start(0, type="text", text="I look."),
        start(1, type="server_tool_use", id="s", name="web_search", input={}),
        delta(1, "input_json_delta", partial_json='{"query": '),
        delta(1, "input_json_delta", partial_json='"é"}'),
        start(2, **found),
        start(3, type="text", text="So far"),
        start(4, type="server_tool_use", id="t", name="web_search", input={}),
        end("pause_turn"),
        STOP,
    ]
    chunks = decode(ANTHROPIC, events)
    assert blocks(chunks) == [TextBlock("I look."), TextBlock("So far")]
    last = chunks[-1]
    assert isinstance(last, FinishChunk)
    assert last.kind == "pause"
    content = (TextBlock("I look."), TextBlock("So far"))
    said = Message("m2", "assistant", content, ModelSource("p", "m", last.replay_state))
    asked = Message("m1", "user", (TextBlock("Find it."),), UserSource())
    body: Any = ANTHROPIC.encode(GenerateOptions(CallConfig("p", "m"), (asked, said)))
    assert body["messages"][-1] == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "é"}},
            found,
            {"type": "text", "text": "So far"},
            {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}},
        ],
    }
    other: Any = ANTHROPIC.encode(GenerateOptions(CallConfig("p", "other"), (asked, said)))
    assert [block["type"] for block in other["messages"][-1]["content"]] == ["text", "text"]


def test_a_pause_with_nothing_said_is_a_failure() -> None:
    assert failure(decode(ANTHROPIC, [end("pause_turn"), STOP])).code == "EMPTY_RESPONSE"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "pause"),
        ("max_tokens", "max-tokens"),
        ("model_context_window_exceeded", "max-tokens"),
        ("refusal", "refusal"),
        ("something_new", "stop"),
    ],
)
def test_stop_reasons(reason: str, kind: str) -> None:
    last = decode(ANTHROPIC, [start(0, type="text", text="a"), end(reason), STOP])[-1]
    assert isinstance(last, FinishChunk)
    assert last.kind == kind


def test_counts_are_running_totals_in_disjoint_buckets() -> None:
    begin = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
    last = end("end_turn", input_tokens=4, output_tokens=9, cache_read_input_tokens=7, cache_creation_input_tokens=2)
    chunks = decode(ANTHROPIC, [begin, start(0, type="text", text="a"), last, STOP])
    assert chunks[-2] == UsageChunk(TokenUsage(4, 9, 7, 2))
    assert chunks[0] == UsageChunk(TokenUsage(3, 1)), "what was read is told at once: the stream may break off"


def test_a_zero_takes_no_count_back() -> None:
    begin = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
    chunks = decode(
        ANTHROPIC, [begin, start(0, type="text", text="a"), end("end_turn", input_tokens=0, output_tokens=9)]
    )
    assert [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)] == [TokenUsage(3, 1), TokenUsage(3, 9)]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "OVERLOADED"),
        ("rate_limit_error", "RATE_LIMIT"),
        ("api_error", "SERVER"),
        ("authentication_error", "AUTH"),
        ("billing_error", "QUOTA"),
        ("timeout_error", "TIMEOUT"),
        ("invalid_request_error", "INVALID_REQUEST"),
    ],
)
def test_errors_inside_a_stream(kind: str, code: str) -> None:
    told = {"type": "error", "error": {"type": kind, "message": "no"}}
    assert failure(decode(ANTHROPIC, [start(0, type="text", text="a"), told])).code == code


def test_a_stream_without_a_stop_reason_was_cut() -> None:
    assert failure(decode(ANTHROPIC, [start(0, type="text", text="a")])).code == "STREAM_CLOSED"
    assert failure(decode(ANTHROPIC, [])).code == "EMPTY_RESPONSE"


def test_a_whole_document_is_an_answer() -> None:
    content = [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "now", "input": {}}]
    usage = {"input_tokens": 3, "output_tokens": 2}
    chunks = document(ANTHROPIC, {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage})
    assert blocks(chunks) == [TextBlock("Hi"), ToolCallBlock("t", "now", "{}")]
    assert chunks[-2:] == [UsageChunk(TokenUsage(3, 2)), FinishChunk("tool-calls")]


@pytest.mark.parametrize(
    ("body", "code"),
    [({"type": "error", "error": {"type": "api_error"}}, "SERVER"), ({}, "MALFORMED_RESPONSE")],
)
def test_documents_that_are_no_answer(body: Any, code: str) -> None:
    assert failure(document(ANTHROPIC, body)).code == code
