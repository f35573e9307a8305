from __future__ import annotations

from typing import Any

import pytest

from acp_server.app.default_rows import ROWS
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS, dialect_for
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.catalog import facts_of
from acp_server.llm.failure import LlmError
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.unit.llm.conversation import small


def extras(body: Any, *known: str) -> dict[str, Any]:
    """Return the fields beyond the model, the conversation and the stream's."""
    left_out = {"model", "messages", "input", "stream", "stream_options", "store", *known}
    return {key: value for key, value in body.items() if key not in left_out}


@pytest.mark.parametrize(
    ("dialect", "effort", "asked"),
    [
        ("openai", None, {}),
        ("openai", "high", {"reasoning_effort": "high"}),
        ("openai", "off", {"reasoning_effort": "none"}),
        ("deepseek", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("deepseek", "off", {"thinking": {"type": "disabled"}}),
        ("openrouter", "low", {"reasoning": {"effort": "low"}}),
        ("openrouter", "off", {"reasoning": {"enabled": False}}),
        ("vllm", "low", {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}}),
        ("vllm", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("ollama", "low", {"reasoning_effort": "low"}),
    ],
)
def test_each_dialect_asks_for_thinking_in_its_way(dialect: str, effort: str | None, asked: dict[str, Any]) -> None:
    options = small(CallConfig("p", "m", reasoning_effort=effort))
    assert extras(ChatProtocol(DIALECTS[dialect]).encode(options)) == asked


def test_a_title_is_made_without_thinking() -> None:
    messages = small(CallConfig("p", "m")).messages
    options = GenerateOptions(CallConfig("p", "m", reasoning_effort="high"), messages, purpose="session-title")
    assert extras(ChatProtocol(DIALECTS["deepseek"]).encode(options)) == {"thinking": {"type": "disabled"}}


def test_limits_and_stop_words_of_chat_completions() -> None:
    options = small(CallConfig("p", "m", temperature=0.5, max_tokens=9, stop=("END",)))
    assert extras(ChatProtocol().encode(options)) == {"max_tokens": 9, "temperature": 0.5, "stop": ["END"]}
    openai = extras(ChatProtocol(DIALECTS["openai"]).encode(options))
    assert openai == {"max_completion_tokens": 9, "temperature": 0.5, "stop": ["END"]}


@pytest.mark.parametrize(
    ("provider", "url", "name"),
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "http://127.0.0.1:4000/v1", "generic"),
        ("openai", "https://api.deepseek.com", "deepseek"),
        ("deepseek", "http://127.0.0.1:4000", "deepseek"),
        ("mine", "http://127.0.0.1:11434/v1", "ollama"),
        ("vllm", "http://127.0.0.1:1234/v1", "vllm"),
        ("mine", "http://127.0.0.1:1234/v1", "lm-studio"),
        ("mine", "http://127.0.0.1:99999/v1", "generic"),
    ],
)
def test_the_dialect_goes_by_host_then_name_then_port(provider: str, url: str, name: str) -> None:
    assert dialect_for(provider, url) == DIALECTS[name]


def test_responses_asks_for_encrypted_reasoning_and_a_summary() -> None:
    known = ResponsesProtocol(facts=lambda model: ModelInfo("p", model, model, efforts=("low",)))
    included = {"include": ["reasoning.encrypted_content"]}
    plain = small(CallConfig("p", "m"))
    low = small(CallConfig("p", "m", reasoning_effort="low"))
    off = small(CallConfig("p", "m", reasoning_effort="off"))
    assert extras(ResponsesProtocol().encode(plain)) == included
    assert extras(known.encode(plain)) == {**included, "reasoning": {"summary": "auto"}}
    assert extras(known.encode(low)) == {**included, "reasoning": {"effort": "low", "summary": "auto"}}
    assert extras(known.encode(off)) == {**included, "reasoning": {"effort": "none"}}
    assert extras(ResponsesProtocol(summary=None).encode(low)) == {**included, "reasoning": {"effort": "low"}}


def test_responses_asks_a_model_that_does_not_reason_for_nothing() -> None:
    known = ResponsesProtocol(facts=lambda model: ModelInfo("p", model, model))
    assert extras(known.encode(small(CallConfig("p", "m")))) == {}


def test_responses_has_no_stop_words() -> None:
    with pytest.raises(LlmError) as raised:
        ResponsesProtocol().encode(small(CallConfig("p", "m", stop=("END",))))
    assert raised.value.code == "UNSUPPORTED_OPTION"


@pytest.mark.parametrize(
    ("model", "effort", "asked"),
    [
        ("claude-sonnet-4-5", None, {}),
        ("claude-sonnet-4-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-4-5", "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        ("claude-opus-4-20250514", "max", {"thinking": {"type": "enabled", "budget_tokens": 30976}}),
        ("kimi-k3", "low", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (
            "claude-opus-4-6",
            "low",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
        (
            "claude-haiku-5-5",
            "max",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
        ),
    ],
)
def test_messages_asks_each_model_for_thinking_in_its_way(
    model: str, effort: str | None, asked: dict[str, Any]
) -> None:
    options = small(CallConfig("p", model, reasoning_effort=effort))
    assert extras(AnthropicProtocol().encode(options), "max_tokens") == asked


@pytest.mark.parametrize(
    "config",
    [
        CallConfig("p", "m", reasoning_effort="low", temperature=0.1),
        CallConfig("p", "m", reasoning_effort="low", max_tokens=2000),
    ],
)
def test_messages_refuses_what_cannot_stand_beside_thinking(config: CallConfig) -> None:
    with pytest.raises(LlmError) as raised:
        AnthropicProtocol().encode(small(config))
    assert raised.value.code == "UNSUPPORTED_OPTION"


def test_messages_always_has_a_limit() -> None:
    known = AnthropicProtocol(facts=lambda model: ModelInfo("p", model, model, max_output_tokens=8192))
    plain, limited = small(CallConfig("p", "m")), small(CallConfig("p", "m", max_tokens=9))
    assert AnthropicProtocol().encode(plain)["max_tokens"] == 32_000
    assert known.encode(plain)["max_tokens"] == 8192
    assert known.encode(limited)["max_tokens"] == 9


def test_keys_travel_in_each_protocols_header() -> None:
    assert ChatProtocol().headers("k") == ResponsesProtocol().headers("k") == {"authorization": "Bearer k"}
    assert AnthropicProtocol().headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    assert ChatProtocol().headers(None) == ResponsesProtocol().headers(None) == {}
    assert AnthropicProtocol().headers(None) == {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("provider", "model", "effort", "asked"),
    [
        ("kimi", "kimi-k3", "low", {"reasoning_effort": "low"}),
        ("kimi", "kimi-k2.6", "off", {"thinking": {"type": "disabled"}}),
        ("kimi", "kimi-k2.6", "on", {"thinking": {"type": "enabled"}}),
        ("glm", "glm-5.3", "max", {"reasoning_effort": "max"}),
        ("glm", "glm-5.3-flash", "high", {"reasoning_effort": "high"}),
        ("mistral", "mistral-small-latest", "off", {"reasoning_effort": "none"}),
        ("mistral", "mistral-medium-latest", "high", {"reasoning_effort": "high"}),
        ("qwen", "qwen3.8-max", "off", {"enable_thinking": False}),
        ("qwen", "qwen3.8-max", "medium", {"enable_thinking": True, "reasoning_effort": "medium"}),
    ],
)
def test_chat_asks_each_provider_for_thinking_in_its_way(
    provider: str, model: str, effort: str, asked: dict[str, Any]
) -> None:
    known = facts_of(provider)(model)
    assert known is not None
    assert effort in known.efforts
    (row,) = (row for row in ROWS if row.config.get("name") == provider)
    dialect = dialect_for(provider, str(row.config["base_url"]))
    assert extras(ChatProtocol(dialect).encode(small(CallConfig(provider, model, effort)))) == asked
