"""The mock model server says one neutral answer in three protocols and reads three shapes of one conversation."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.llm_script import Playback, Script
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

SAID: Obj = {
    "reasoning": "Hm.",
    "text": "Hello.",
    "chunks": 2,
    "tool": "read",
    "args": {"path": "a"},
    "usage": {"input": 9, "output": 3, "cached": 4},
}

SPOKEN: dict[str, Obj] = {
    "/v1/chat/completions": {
        "stream": True,
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "Well.",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "alpha"},
        ],
    },
    "/v1/responses": {
        "stream": True,
        "input": [
            {"role": "user", "content": "go"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "alpha"},
        ],
    },
    "/v1/messages": {
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Well."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "alpha"}]},
        ],
    },
}


def ask(mock: MockLlm, path: str) -> httpx.Response:
    return httpx.post(f"{mock.root}{path}", json=SPOKEN[path], timeout=10)


def events(answer: httpx.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_chat_completions() -> None:
    with MockLlm(Script([SAID])) as mock:
        said = events(ask(mock, "/v1/chat/completions"))
    deltas = [choice["delta"] for event in said for choice in event["choices"]]
    assert deltas == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm."},
        {"content": "Hel"},
        {"content": "lo."},
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_1_0",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "a"}'},
                }
            ]
        },
        {},
    ]
    assert [choice["finish_reason"] for event in said for choice in event["choices"]][-1] == "tool_calls"
    assert said[-1]["usage"] == {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }


def test_responses() -> None:
    with MockLlm(Script([SAID])) as mock:
        said = events(ask(mock, "/v1/responses"))
    deltas = [(event["type"], event["delta"]) for event in said if "delta" in event]
    assert deltas == [
        ("response.reasoning_summary_text.delta", "Hm."),
        ("response.output_text.delta", "Hel"),
        ("response.output_text.delta", "lo."),
        ("response.function_call_arguments.delta", '{"path": "a"}'),
    ]
    last = said[-1]
    assert (last["type"], [item["type"] for item in last["response"]["output"]]) == (
        "response.completed",
        ["reasoning", "message", "function_call"],
    )
    assert last["response"]["usage"] == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }


def test_anthropic_messages() -> None:
    with MockLlm(Script([SAID])) as mock:
        said = events(ask(mock, "/v1/messages"))
    deltas = [event["delta"] for event in said if event["type"] == "content_block_delta"]
    assert deltas == [
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "signed"},
        {"type": "text_delta", "text": "Hel"},
        {"type": "text_delta", "text": "lo."},
        {"type": "input_json_delta", "partial_json": '{"path": "a"}'},
    ]
    assert said[0]["message"]["usage"]["cache_read_input_tokens"] == 4
    assert said[-2]["delta"]["stop_reason"] == "tool_use"
    assert said[-1] == {"type": "message_stop"}


@pytest.mark.parametrize("path", SPOKEN)
def test_a_conversation_is_read_into_one_shape(path: str) -> None:
    with MockLlm() as mock:
        ask(mock, path)
        (asked,) = mock.asked
    said = asked.messages[1]
    assert [m["role"] for m in asked.messages] == ["user", "assistant", "tool"]
    assert (said["content"], said["tool_calls"][0]["id"], said["tool_calls"][0]["function"]) == (
        "Well.",
        "c1",
        {"name": "read", "arguments": "{}"},
    )
    assert (asked.messages[2]["tool_call_id"], asked.messages[2]["content"]) == ("c1", "alpha")


@pytest.mark.parametrize("path", SPOKEN)
def test_a_prompt_beyond_the_window_is_refused(path: str) -> None:
    with MockLlm(Script([{"overflow": True}])) as mock:
        answer = ask(mock, path)
        assert (answer.status_code, mock.asked[0].refused) == (400, True)
    assert "too long" in answer.text or "context_length_exceeded" in answer.text


def test_raw_bytes_are_played_as_they_are() -> None:
    played = Playback([b"data: on", b"", b"e\n\n"], 503, {"content-type": "text/odd", "retry-after": "7"})
    with MockLlm(Script([played])) as mock:
        answer = ask(mock, "/v1/responses")
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (503, b"data: one\n\n", "7")


def test_a_body_that_is_cut_ends_without_its_end() -> None:
    with (
        MockLlm(Script([Playback([b"data: one\n\n"], ending="cut")])) as mock,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        ask(mock, "/v1/chat/completions")


def test_an_answer_may_hang_until_the_client_hangs_up() -> None:
    with MockLlm(Script([{"text": "a", "hang": True}])) as mock:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{mock.url}/chat/completions", json=SPOKEN["/v1/chat/completions"], timeout=0.3)
        for _ in range(100):
            if mock.asked[0].hung_up:
                break
            mock.stop.wait(0.02)
        assert mock.asked[0].hung_up


def test_an_unknown_path_is_not_recorded() -> None:
    with MockLlm() as mock:
        assert httpx.post(f"{mock.url}/completions", json={}, timeout=10).status_code == 404
        assert mock.asked == []
