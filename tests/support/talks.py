"""Conversations of any shape for what looks at the Surface: messages, pairs in any order, texts of any size."""

from __future__ import annotations

from hypothesis import strategies as st

from acp_server.messages.blocks import (
    Block,
    Message,
    ModelSource,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
)

MODEL = ModelSource("play", "m")


def said(text: str, ident: str = "u") -> Message:
    return Message(ident, "user", (TextBlock(text),), UserSource())


def answered(*blocks: Block, ident: str = "a") -> Message:
    return Message(ident, "assistant", blocks, MODEL)


def call(ident: str, name: str = "read_file", arguments: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(ident, name, arguments)


def result(ident: str, text: str = "done", *, is_error: bool = False) -> Message:
    block = ToolResultBlock(ident, (TextBlock(text),), is_error)
    return Message(f"r-{ident}", "user", (block,), ToolSource(ident))


@st.composite
def talks(draw: st.DrawFn) -> list[Message | None]:
    """Draw messages whose results stand in any order, in any place, and may be missing; ids come again."""
    messages: list[Message | None] = []
    for step in range(draw(st.integers(0, 8))):
        messages.append(draw(st.sampled_from([said(f"p{step}"), None, answered(TextBlock("so"))])))
        calls = [f"c{draw(st.integers(0, 3))}" for _ in range(draw(st.integers(0, 4)))]
        if calls:
            messages.append(answered(*map(call, dict.fromkeys(calls))))
        shuffled = draw(st.permutations(list(dict.fromkeys(calls))))
        messages += [result(ident, "x" * draw(st.integers(0, 40))) for ident in shuffled if draw(st.integers(0, 5))]
    if draw(st.booleans()):
        messages = draw(st.permutations(messages))
    return messages
