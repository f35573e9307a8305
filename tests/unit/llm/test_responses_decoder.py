from __future__ import annotations

from typing import Any

import pytest

from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.messages.blocks import ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import BlockEnd, FinishChunk, ReasoningDelta, TextDelta, TokenUsage, UsageChunk
from tests.unit.llm.decoding import blocks, decode, document, failure

RESPONSES = ResponsesProtocol()


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def completed(*output: Any, **fields: Any) -> dict[str, Any]:
    return event("completed", response={"status": "completed", "output": list(output), **fields})


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}], **fields}


def test_items_without_deltas_are_given_when_they_end() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    chunks = decode(
        RESPONSES,
        [
            event("output_item.done", output_index=0, item=message("Hello", id="i1")),
            completed(message("Hello", id="i1"), call),
        ],
    )
    assert blocks(chunks) == [TextBlock("Hello"), ToolCallBlock("c1", "read", "{}")]
    assert chunks[-1] == FinishChunk("tool-calls")


def test_an_end_that_says_more_than_the_deltas_gives_the_rest() -> None:
    stream = [event("output_text.delta", item_id="i1", delta="Hel"), completed(message("Hello", id="i1"))]
    assert decode(RESPONSES, stream)[:3] == [
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        BlockEnd(0, TextBlock("Hello")),
    ]


def test_deltas_that_name_no_item_are_not_doubled() -> None:
    stream = [event("output_text.delta", delta="Hel"), event("output_text.delta", delta="lo")]
    assert blocks(decode(RESPONSES, [*stream, completed(message("Hello"))])) == [TextBlock("Hello")]


def test_parts_of_a_summary_stand_apart() -> None:
    deltas = [
        event("reasoning_summary_text.delta", output_index=0, summary_index=part, delta=word)
        for part, word in ((0, "One"), (0, "."), (1, "Two."))
    ]
    item = {
        "type": "reasoning",
        "id": "r1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "content": [{"type": "reasoning_text", "text": "raw"}],
        "encrypted_content": "ZW5j",
        "status": "completed",
    }
    chunks = decode(RESPONSES, [*deltas, event("output_item.done", output_index=0, item=item), completed(item)])
    assert chunks[:4] == [
        ReasoningDelta(0, "One"),
        ReasoningDelta(0, "."),
        ReasoningDelta(0, "\n\n"),
        ReasoningDelta(0, "Two."),
    ]
    kept: Any = {key: item[key] for key in ("type", "id", "summary", "encrypted_content")}
    assert chunks[-1] == FinishChunk("stop", None, {"protocol": "responses", "version": 1, "blocks": [kept]})


def test_hidden_reasoning_holds_its_place_before_the_words() -> None:
    item = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "ZW5j"}
    chunks = decode(
        RESPONSES,
        [
            event("output_item.done", output_index=0, item=item),
            event("output_text.delta", output_index=1, delta="Yes."),
            completed(item, message("Yes.", phase="final_answer")),
        ],
    )
    assert blocks(chunks) == [ReasoningBlock(""), TextBlock("Yes.")]
    state: Any = {"protocol": "responses", "version": 1, "blocks": [item, {"phase": "final_answer"}]}
    assert chunks[-1] == FinishChunk("stop", None, state)


def test_hidden_reasoning_alone_is_no_answer() -> None:
    item = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "ZW5j"}
    assert failure(decode(RESPONSES, [completed(item)])).code == "EMPTY_RESPONSE"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("max_output_tokens", "max-tokens"), ("content_filter", "refusal"), ("other", "max-tokens")],
)
def test_reasons_for_an_incomplete_answer(reason: str, kind: str) -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [message("a")]}
    last = decode(RESPONSES, [event("incomplete", response=response)])[-1]
    assert isinstance(last, FinishChunk)
    assert last.kind == kind


def test_words_of_refusal_are_shown_and_the_finish_says_so() -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    streamed = decode(RESPONSES, [event("refusal.delta", output_index=0, delta="No."), completed(item)])
    whole = document(RESPONSES, {"status": "completed", "output": [item]})
    for chunks in (streamed, whole):
        assert blocks(chunks) == [TextBlock("No.")]
        assert chunks[-1] == FinishChunk("refusal")


def test_a_stream_without_the_responses_end_was_cut() -> None:
    assert failure(decode(RESPONSES, [event("output_text.delta", delta="a")])).code == "STREAM_CLOSED"
    assert failure(decode(RESPONSES, [])).code == "EMPTY_RESPONSE"


def test_usage_is_in_disjoint_buckets() -> None:
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    assert decode(RESPONSES, [completed(message("a"), usage=usage)])[-2] == UsageChunk(TokenUsage(5, 3, 4, None, 2))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"message": "no", "code": "rate_limit_exceeded"}}, "RATE_LIMIT"),
        ({"status": "failed", "error": None}, "SERVER"),
        ({"status": "cancelled"}, "SERVER"),
        ({"status": "completed", "output": []}, "EMPTY_RESPONSE"),
        ({}, "MALFORMED_RESPONSE"),
    ],
)
def test_documents_that_are_no_answer(body: Any, code: str) -> None:
    assert failure(document(RESPONSES, body)).code == code


def test_items_without_place_and_id_are_told_apart_by_their_ends() -> None:
    stream = [
        event("output_text.delta", delta="One."),
        event("output_item.done", item=message("One.")),
        event("output_text.delta", delta="Two."),
        event("output_item.done", item=message("Two.")),
        completed(),
    ]
    assert blocks(decode(RESPONSES, stream)) == [TextBlock("One."), TextBlock("Two.")]
