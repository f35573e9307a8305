from __future__ import annotations

from typing import Any

import pytest

from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.messages.blocks import (
    Message,
    ModelSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    UserSource,
)
from acp_server.messages.chunks import (
    BlockEnd,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from tests.unit.llm.decoding import blocks, decode, document, failure

CHAT = ChatProtocol()


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def call(**parts: Any) -> dict[str, Any]:
    function = {key: parts.pop(key) for key in ("name", "arguments") if key in parts}
    return delta(tool_calls=[{**parts, "function": function}])


def test_a_block_ends_as_soon_as_the_next_one_begins_and_calls_at_the_finish() -> None:
    chunks = decode(
        CHAT,
        [
            delta(reasoning_content="Hm."),
            delta(content="Look:"),
            call(index=0, id="c1", name="read", arguments="{}"),
            delta("tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
            "[DONE]",
        ],
    )
    assert chunks == [
        ReasoningDelta(0, "Hm."),
        BlockEnd(0, ReasoningBlock("Hm.")),
        TextDelta(1, "Look:"),
        BlockEnd(1, TextBlock("Look:")),
        ToolCallDelta(2, "c1", "{}", "read"),
        BlockEnd(2, ToolCallBlock("c1", "read", "{}")),
        UsageChunk(TokenUsage(5, 2)),
        FinishChunk("tool-calls", None, {"protocol": "chat", "version": 1, "reasoning": "reasoning_content"}),
    ]


def test_a_pair_of_halves_in_two_deltas_is_one_character_and_a_last_half_is_replaced() -> None:
    chunks = decode(CHAT, [delta(content="a\ud83d"), delta(content="\ude80b\ud83d"), delta("stop")])
    assert chunks[:4] == [
        TextDelta(0, "a"),
        TextDelta(0, "🚀b"),
        TextDelta(0, "\ufffd"),
        BlockEnd(0, TextBlock("a🚀b\ufffd")),
    ]


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        pytest.param(
            [{"name": "a", "arguments": "{}"}, {"name": "b", "arguments": "{}"}],
            [("a", "{}"), ("b", "{}")],
            id="neither index nor id, another name",
        ),
        pytest.param(
            [{"name": "a", "arguments": "{}"}, {"name": "a", "arguments": "{}"}],
            [("a", "{}"), ("a", "{}")],
            id="neither index nor id, the same name after whole arguments",
        ),
        pytest.param(
            [{"name": "a", "arguments": '{"x":'}, {"name": "a", "arguments": "1}"}],
            [("a", '{"x":1}')],
            id="neither index nor id, the name repeated",
        ),
        pytest.param(
            [{"index": 0, "name": "a", "arguments": "{}"}, {"index": 0, "name": "b", "arguments": "{}"}],
            [("a", "{}"), ("b", "{}")],
            id="one index, no ids",
        ),
        pytest.param(
            [
                {"index": 0, "id": "1", "name": "a", "arguments": "{"},
                {"index": 0, "id": "2", "name": "b", "arguments": "{"},
                {"index": 0, "id": "1", "arguments": "}"},
                {"index": 0, "id": "2", "arguments": "}"},
            ],
            [("a", "{}"), ("b", "{}")],
            id="one index, fragments told apart by id",
        ),
        pytest.param(
            [{"index": 0, "id": "1", "name": "a", "arguments": {"x": 1}}],
            [("a", '{"x": 1}')],
            id="arguments as an object",
        ),
        pytest.param(
            [{"index": 0, "name": "a"}, {"index": 0, "id": "late", "arguments": None}],
            [("a", "")],
            id="the id late, arguments null",
        ),
    ],
)
def test_fragments_find_their_call(fragments: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    ended = blocks(decode(CHAT, [*(call(**fragment) for fragment in fragments), delta("tool_calls")]))
    calls = [block for block in ended if isinstance(block, ToolCallBlock)]
    assert [(block.name, block.arguments) for block in calls] == expected
    assert len({block.id for block in calls} - {""}) == len(calls)


def test_an_id_that_the_conversation_holds_is_given_once_more_under_another_name() -> None:
    said = Message("m2", "assistant", (ToolCallBlock("shell:0", "shell", "{}"),), ModelSource("p", "m"))
    asked = Message("m3", "user", (TextBlock("again"),), UserSource())
    stream = [call(index=0, id="shell:0", name="shell", arguments="{}"), delta("tool_calls")]
    first, second = (blocks(decode(CHAT, stream, (said, asked)))[0] for _ in range(2))
    assert isinstance(first, ToolCallBlock)
    assert first.id.startswith("shell:0_")
    assert first == second


def test_a_call_in_the_old_form_is_a_call() -> None:
    stream = [
        delta(function_call={"name": "read", "arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
        delta("function_call"),
    ]
    ended = blocks(decode(CHAT, stream))
    assert [type(block) for block in ended] == [ToolCallBlock]
    assert isinstance(ended[0], ToolCallBlock)
    assert (ended[0].name, ended[0].arguments) == ("read", '{"a":1}')


@pytest.mark.parametrize(
    ("finish", "kind"),
    [
        ("stop", "stop"),
        ("length", "max-tokens"),
        ("content_filter", "refusal"),
        ("refusal", "refusal"),
        ("eos_token", "stop"),
    ],
)
def test_finish_reasons(finish: str, kind: str) -> None:
    last = decode(CHAT, [delta(finish, content="a"), "[DONE]"])[-1]
    assert isinstance(last, FinishChunk)
    assert last.kind == kind


def test_an_unknown_finish_reason_is_a_stop_and_is_kept() -> None:
    last = decode(CHAT, [delta("eos_token", content="a")])[-1]
    assert last == FinishChunk("stop", None, {"protocol": "chat", "version": 1, "finish": "eos_token"})


def test_words_of_refusal_are_shown_and_the_finish_says_so() -> None:
    chunks = decode(CHAT, [delta(refusal="I will"), delta("stop", refusal=" not.")])
    assert blocks(chunks) == [TextBlock("I will not.")]
    assert chunks[-1] == FinishChunk("refusal")


def test_content_in_parts_is_told_apart() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Yes."}]
    assert blocks(decode(CHAT, [delta("stop", content=parts)])) == [ReasoningBlock("Hm."), TextBlock("Yes.")]


def test_what_the_server_wants_back_is_put_aside() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    chunks = decode(
        CHAT,
        [
            delta(reasoning="Hm", reasoning_details=[{"type": "t", "index": 0, "text": "Hm"}]),
            delta(reasoning=".", reasoning_details=[{"type": "t", "index": 0, "text": ".", "format": "x"}]),
            call(index=0, id="c1", name="read", arguments="{}", extra_content=signature),
            delta("tool_calls"),
        ],
    )
    assert chunks[-1] == FinishChunk(
        "tool-calls",
        None,
        {
            "protocol": "chat",
            "version": 1,
            "reasoning": "reasoning",
            "reasoning_details": [{"type": "t", "index": 0, "text": "Hm.", "format": "x"}],
            "extra_content": {"c1": signature},
        },
    )


@pytest.mark.parametrize(
    ("payload", "code", "message"),
    [
        ({"error": {"message": "Slow down", "code": 429}}, "RATE_LIMIT", "Slow down"),
        ({"error": {"message": "Bad gateway", "code": "502"}}, "SERVER", "Bad gateway"),
        ({"error": {"message": "no", "type": "authentication_error"}}, "AUTH", "no"),
        ({"error": {"message": "The server is overloaded"}}, "OVERLOADED", "The server is overloaded"),
        ({"error": "out of memory"}, "SERVER", "out of memory"),
        ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "INVALID_REQUEST", "bad"),
        ({"error": {"message": "insufficient balance"}}, "QUOTA", "insufficient balance"),
        ({"error": {"code": "context_length_exceeded"}}, "CONTEXT_WINDOW_EXCEEDED", None),
        ({"choices": [{"finish_reason": "insufficient_system_resource"}]}, "OVERLOADED", None),
    ],
)
def test_errors_inside_a_stream(payload: dict[str, Any], code: str, message: str | None) -> None:
    told = failure(decode(CHAT, [delta(content="a"), payload]))
    assert told.code == code
    assert message is None or told.message == message


@pytest.mark.parametrize(
    ("dialect", "usage", "cost"),
    [
        ("generic", {"cost": 0.25}, None),
        ("openrouter", {}, None),
        ("openrouter", {"cost": 0}, 0.0),
        ("openrouter", {"cost": 0.25, "cost_details": {"upstream_inference_cost": None}}, 0.25),
        ("openrouter", {"cost": 0.25, "is_byok": False, "cost_details": {"upstream_inference_cost": 2}}, 0.25),
        ("openrouter", {"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, 2.25),
        ("openrouter", {"cost": 0.25, "is_byok": True}, None),
        ("openrouter", {"cost": "0.25"}, None),
        ("openrouter", {"cost": -1}, None),
        ("openrouter", {"cost": True}, None),
    ],
)
def test_a_provider_that_says_what_it_charged_is_believed(
    dialect: str, usage: dict[str, Any], cost: float | None
) -> None:
    told = {"prompt_tokens": 9, "completion_tokens": 1, **usage}
    chunks = decode(ChatProtocol(DIALECTS[dialect]), [delta(content="a"), {"choices": [], "usage": told}, "[DONE]"])
    assert UsageChunk(TokenUsage(9, 1, cost=cost)) in chunks


def test_counts_with_each_event_are_told_at_first_and_at_the_end() -> None:
    stream = [
        {"usage": {"prompt_tokens": 0, "completion_tokens": 0}},
        *({**delta(content="a"), "usage": {"prompt_tokens": 9, "completion_tokens": number}} for number in range(1, 9)),
        "[DONE]",
    ]
    usages = [chunk.usage for chunk in decode(CHAT, stream) if isinstance(chunk, UsageChunk)]
    assert usages == [TokenUsage(9, 1), TokenUsage(9, 8)]


def test_usage_is_told_before_a_failure() -> None:
    stream = [{"usage": {"prompt_tokens": 9, "completion_tokens": 1}}, {"error": "gone"}]
    assert decode(CHAT, stream) == [
        UsageChunk(TokenUsage(9, 1)),
        FinishChunk("error", LlmFailure("SERVER", "gone")),
    ]


def test_an_unreadable_event_is_a_fault_in_the_middle_and_a_cut_at_the_end() -> None:
    assert failure(decode(CHAT, ['{"choices": [', delta(content="a")])).code == "MALFORMED_RESPONSE"
    assert failure(decode(CHAT, [delta(content="a"), '{"choices": ['])).code == "STREAM_CLOSED"
    assert decode(CHAT, [delta("stop", content="a"), '{"choices": ['])[-1] == FinishChunk("stop")


def test_the_end_mark_alone_ends_an_answer() -> None:
    assert decode(CHAT, [delta(content="a"), "[DONE]", delta(content="b")]) == [
        TextDelta(0, "a"),
        BlockEnd(0, TextBlock("a")),
        FinishChunk("stop"),
    ]


def test_a_whole_document_is_an_answer() -> None:
    message = {
        "content": "Look.",
        "reasoning_content": "Hm.",
        "tool_calls": [{"function": {"name": name, "arguments": "{}"}} for name in ("read", "read")],
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    chunks = document(CHAT, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    ended = blocks(chunks)
    assert ended[:2] == [ReasoningBlock("Hm."), TextBlock("Look.")]
    assert [type(block) for block in ended[2:]] == [ToolCallBlock, ToolCallBlock]
    assert chunks[-2] == UsageChunk(TokenUsage(3, 4, 6))
    assert isinstance(chunks[-1], FinishChunk)
    assert chunks[-1].kind == "tool-calls"


@pytest.mark.parametrize("body", [{}, [], None, "text", {"detail": "Not Found"}])
def test_a_document_of_another_kind_is_malformed(body: Any) -> None:
    assert failure(document(CHAT, body)).code == "MALFORMED_RESPONSE"
