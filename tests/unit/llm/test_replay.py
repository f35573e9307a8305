"""State that an adapter put aside restores fidelity where it fits, and is passed over where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.messages.blocks import Block, Message, ModelSource, ReasoningBlock, TextBlock, UserSource
from acp_server.messages.request import CallConfig, GenerateOptions

THOUGHT = ReasoningBlock("Hm.")
WORDS = TextBlock("Yes.")
SIGNED: Any = {"protocol": "anthropic", "version": 1, "blocks": [{"signature": "c2ln"}, None]}
ITEM: Any = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "ZW5j"}


def request(*content: Block, state: Any, provider: str = "p", model: str = "m") -> GenerateOptions:
    asked = Message("m1", "user", (TextBlock("Hi"),), UserSource())
    said = Message("m2", "assistant", content, ModelSource(provider, model, state))
    return GenerateOptions(CallConfig("p", "m"), (asked, said, Message("m3", "user", (WORDS,), UserSource())))


def spoken(options: GenerateOptions) -> Any:
    body: Any = AnthropicProtocol().encode(options)
    return [message["content"] for message in body["messages"] if message["role"] == "assistant"]


def test_state_that_fits_goes_back_in_its_place() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    assert spoken(request(THOUGHT, WORDS, state=SIGNED)) == [[thinking, {"type": "text", "text": "Yes."}]]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(request(THOUGHT, WORDS, state=None), id="no state"),
        pytest.param(request(THOUGHT, WORDS, state="x"), id="no object"),
        pytest.param(request(THOUGHT, WORDS, state={**SIGNED, "protocol": "chat"}), id="another protocol"),
        pytest.param(request(THOUGHT, WORDS, state={**SIGNED, "version": 2}), id="another version"),
        pytest.param(request(THOUGHT, WORDS, state={**SIGNED, "blocks": [{"signature": "s"}]}), id="fewer entries"),
        pytest.param(request(THOUGHT, WORDS, state={**SIGNED, "blocks": "ab"}), id="no list"),
        pytest.param(request(THOUGHT, WORDS, state={**SIGNED, "blocks": ["s", 1]}), id="entries of another kind"),
        pytest.param(request(THOUGHT, WORDS, state=SIGNED, provider="q"), id="another provider"),
        pytest.param(request(THOUGHT, WORDS, state=SIGNED, model="n"), id="another model"),
    ],
)
def test_state_that_does_not_fit_leaves_the_neutral_content(options: GenerateOptions) -> None:
    assert spoken(options) == [[{"type": "text", "text": "Yes."}]]


def test_an_answer_of_thinking_alone_is_left_out() -> None:
    assert spoken(request(THOUGHT, state={**SIGNED, "blocks": [{"signature": "c2ln"}]})) == []


def test_a_reasoning_item_without_a_successor_is_left_out() -> None:
    state = {"protocol": "responses", "version": 1, "blocks": [ITEM, None, ITEM]}
    body: Any = ResponsesProtocol().encode(request(THOUGHT, WORDS, THOUGHT, state=state))
    said = {"type": "message", "role": "assistant", "content": "Yes."}
    assert body["input"][1:-1] == [ITEM, said]


def test_chat_completions_gives_back_under_the_name_it_came_by() -> None:
    for name in ("reasoning", "reasoning_content"):
        state = {"protocol": "chat", "version": 1, "reasoning": name}
        body: Any = ChatProtocol().encode(request(THOUGHT, WORDS, state=state))
        assert body["messages"][1] == {"role": "assistant", "content": "Yes.", name: "Hm."}
    forged = {"protocol": "chat", "version": 1, "reasoning": "role"}
    body = ChatProtocol().encode(request(THOUGHT, WORDS, state=forged))
    assert body["messages"][1] == {"role": "assistant", "content": "Yes."}


def test_details_of_reasoning_go_back_in_place_of_its_words() -> None:
    details = [{"type": "reasoning.encrypted", "data": "ZW5j"}]
    state: Any = {"protocol": "chat", "version": 1, "reasoning": "reasoning", "reasoning_details": details}
    body: Any = ChatProtocol().encode(request(THOUGHT, WORDS, state=state))
    assert body["messages"][1] == {"role": "assistant", "content": "Yes.", "reasoning_details": details}
