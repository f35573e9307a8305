"""Bodies of requests, whole, against files: a change of one byte costs every prompt cache of every session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from tests.unit.llm.conversation import images, whole

GOLDEN = Path(__file__).parent / "golden"
CASES: dict[str, tuple[str, WireProtocol]] = {
    "chat-openai": ("chat", ChatProtocol(DIALECTS["openai"], images)),
    "chat-deepseek": ("chat", ChatProtocol(DIALECTS["deepseek"], images)),
    "chat-llama.cpp": ("chat", ChatProtocol(DIALECTS["llama.cpp"], images)),
    "chat-kimi-after-messages": ("anthropic", ChatProtocol(DIALECTS["kimi"], images)),
    "chat-after-messages": ("anthropic", ChatProtocol(images=images)),
    "responses": ("responses", ResponsesProtocol(images)),
    "responses-after-chat": ("chat", ResponsesProtocol(images)),
    "anthropic": ("anthropic", AnthropicProtocol(images)),
    "anthropic-after-responses": ("responses", AnthropicProtocol(images)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_conversation_is_sent_like_this(name: str) -> None:
    came_by, protocol = CASES[name]
    body = json.dumps(protocol.encode(whole(came_by)), indent=1, ensure_ascii=False) + "\n"
    assert body == (GOLDEN / f"{name}.json").read_text("utf-8")


def test_every_file_is_somebodys() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(CASES)
