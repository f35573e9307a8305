"""Request bodies against the request types of the providers' own Python packages, unknown fields refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError

from acp_server.base.values import replace
from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.catalog import facts_of, known_models
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.unit.llm.conversation import images, small, whole

GOLDEN = Path(__file__).resolve().parents[1] / "unit" / "llm" / "golden"
TYPES: Mapping[str, Any] = {
    "chat": CompletionCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
}
EXTENSIONS = {"reasoning_content"}
"""Fields of messages that other servers of Chat Completions want back and OpenAI's type does not know."""
BODIES = sorted(path.stem for path in GOLDEN.iterdir())
PROTOCOLS: Mapping[str, tuple[str, WireProtocol]] = {
    "openai": ("chat", ChatProtocol(DIALECTS["openai"], images)),
    "openai-responses": ("responses", ResponsesProtocol(images, facts_of("openai"))),
    "anthropic": ("anthropic", AnthropicProtocol(images, facts_of("anthropic"))),
}
EFFORTS = [
    (provider, model.id, effort)
    for provider in PROTOCOLS
    for model in known_models(provider.partition("-")[0])
    for effort in (None, *model.efforts)
]


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    bodies: Any = GenericAlias(list, TYPES[kind])  # a list passes the configuration on to what it holds
    return TypeAdapter(bodies, config=ConfigDict(extra="forbid", strict=True))


def check(kind: str, body: Mapping[str, Any]) -> None:
    """Raise ValidationError when the package's type does not hold for the body."""
    _exhaust(_adapter(kind).validate_python([body]))


def _exhaust(value: Any) -> None:
    """Look at everything: what is typed as an iterable is checked only as it is iterated over."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | Iterator) or hasattr(value, "__next__"):
        for inner in value:
            _exhaust(inner)


def standard(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body of Chat Completions without what only other servers know."""
    messages = [{key: message[key] for key in message if key not in EXTENSIONS} for message in body["messages"]]
    return {**body, "messages": messages}


@pytest.mark.parametrize("name", BODIES)
def test_the_golden_bodies_are_of_the_packages_types(name: str) -> None:
    kind = name.partition("-")[0]
    body = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    check(kind, standard(body) if kind == "chat" else body)


@pytest.mark.parametrize(("provider", "model", "effort"), EFFORTS)
def test_every_effort_of_every_known_model_can_be_said(provider: str, model: str, effort: str | None) -> None:
    kind, protocol = PROTOCOLS[provider]
    check(kind, protocol.encode(small(CallConfig(provider, model, effort))))


@pytest.mark.parametrize(
    ("provider", "choice"),
    [
        ("openai", {"temperature": 0.5, "stop": ("END",), "max_tokens": 100}),
        ("openai-responses", {"temperature": 0.5, "max_tokens": 100}),
        ("anthropic", {"stop": ("END",), "max_tokens": 100}),  # its package knows no temperature: only old models do
    ],
)
def test_every_option_can_be_said(provider: str, choice: dict[str, Any]) -> None:
    kind, protocol = PROTOCOLS[provider]
    options = whole(kind)
    config = replace(options.config, **choice)
    body = protocol.encode(GenerateOptions(config, options.messages, options.system, options.tools, "session-7"))
    check(kind, standard(body) if kind == "chat" else body)


@pytest.mark.parametrize("kind", TYPES)
def test_what_the_types_do_not_know_is_refused(kind: str) -> None:
    body = json.loads((GOLDEN / f"{kind if kind != 'chat' else 'chat-after-messages'}.json").read_text("utf-8"))
    check(kind, body)
    key = "input" if kind == "responses" else "messages"
    wrong = [
        {**body, "colour": "red"},
        {**body, "model": 5},
        {**body, key: [*body[key], {"role": "user"}]},
        {**body, key: [*body[key], {"role": "nobody", "content": "x"}]},
    ]
    for one in wrong:
        with pytest.raises(ValidationError):
            check(kind, one)
