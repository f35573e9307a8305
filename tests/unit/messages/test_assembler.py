"""Every rule of assembling a stream's chunks (table C52)."""

from __future__ import annotations

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Block, OpaqueBlock, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    BlockType,
    FinishChunk,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)

MAX_TOKENS = FinishChunk("max-tokens")
OPAQUE = OpaqueBlock("citation", {"type": "citation"})


def assembled(*chunks: StreamChunk, call_prefix: str = "call") -> BlockAssembler:
    assembler = BlockAssembler(call_prefix)
    for chunk in chunks:
        assembler.push(chunk)
    return assembler


TABLE: dict[str, tuple[list[StreamChunk], list[Block]]] = {
    "nothing": ([], []),
    "text in pieces": ([TextDelta(0, "a"), TextDelta(0, "b"), TextDelta(0, "c")], [TextBlock("abc")]),
    "a start alone": ([BlockStart(0, "text")], [TextBlock("")]),
    "a start is optional": ([BlockStart(0, "reasoning"), ReasoningDelta(0, "a")], [ReasoningBlock("a")]),
    "order is of first appearance": (
        [TextDelta(5, "x"), ReasoningDelta(1, "y"), TextDelta(5, "z")],
        [TextBlock("xz"), ReasoningBlock("y")],
    ),
    "two text blocks in turns": (
        [TextDelta(0, "a"), TextDelta(1, "b"), TextDelta(0, "c"), TextDelta(1, "d")],
        [TextBlock("ac"), TextBlock("bd")],
    ),
    "an end is authoritative": ([TextDelta(0, "a"), BlockEnd(0, TextBlock("b"))], [TextBlock("b")]),
    "an end needs no delta": ([BlockEnd(0, TextBlock("b"))], [TextBlock("b")]),
    "an end may bring another type": ([TextDelta(0, "a"), BlockEnd(0, OPAQUE)], [OPAQUE]),
    "an end alone may be opaque": ([BlockEnd(0, OPAQUE)], [OPAQUE]),
    "the first end counts": ([BlockEnd(0, TextBlock("a")), BlockEnd(0, TextBlock("b"))], [TextBlock("a")]),
    "a delta after the end is ignored": (
        [TextDelta(0, "a"), BlockEnd(0, TextBlock("b")), TextDelta(0, "c"), ReasoningDelta(0, "d"), TextDelta(0, "e")],
        [TextBlock("b")],
    ),
    "a delta of another type is a block of its own": (
        [TextDelta(0, "a"), ReasoningDelta(0, "b"), TextDelta(0, "c")],
        [TextBlock("a"), ReasoningBlock("b"), TextBlock("c")],
    ),
    "a call in pieces": (
        [ToolCallDelta(0, "c1", "", "read"), ToolCallDelta(0, "c1", '{"a"'), ToolCallDelta(0, "c1", ":1}")],
        [ToolCallBlock("c1", "read", '{"a":1}')],
    ),
    "the last id wins, an empty one is none": (
        [ToolCallDelta(0, "c1", ""), ToolCallDelta(0, "c2", ""), ToolCallDelta(0, "", "{}")],
        [ToolCallBlock("c2", "", "{}")],
    ),
    "an empty name does not overwrite": (
        [ToolCallDelta(0, "c1", "", "read"), ToolCallDelta(0, "c1", "{}", "")],
        [ToolCallBlock("c1", "read", "{}")],
    ),
    "a missing id": ([ToolCallDelta(3, "", "{}", "read")], [ToolCallBlock("call-3", "read", "{}")]),
    "a missing id at the end": ([BlockEnd(3, ToolCallBlock("", "r", ""))], [ToolCallBlock("call-3", "r", "")]),
    "max-tokens drops calls, ended or not": (
        [
            TextDelta(0, "a"),
            ToolCallDelta(1, "c1", "{"),
            BlockEnd(2, ToolCallBlock("c2", "read", "{}")),
            MAX_TOKENS,
        ],
        [TextBlock("a")],
    ),
    "doubled ids are told apart": (
        [
            BlockEnd(0, ToolCallBlock("a", "x", "")),
            BlockEnd(1, ToolCallBlock("a", "y", "")),
            BlockEnd(2, TextBlock("t")),
            BlockEnd(3, ToolCallBlock("a-2", "z", "")),
            BlockEnd(4, ToolCallBlock("a", "w", "")),
        ],
        [
            ToolCallBlock("a", "x", ""),
            ToolCallBlock("a-3", "y", ""),
            TextBlock("t"),
            ToolCallBlock("a-2", "z", ""),
            ToolCallBlock("a-4", "w", ""),
        ],
    ),
    "a made id may be taken": (
        [ToolCallDelta(0, "call-1", "", "x"), ToolCallDelta(1, "", "", "y")],
        [ToolCallBlock("call-1", "x", ""), ToolCallBlock("call-1-2", "y", "")],
    ),
}


@pytest.mark.parametrize(("chunks", "expected"), TABLE.values(), ids=TABLE.keys())
def test_blocks(chunks: list[StreamChunk], expected: list[Block]) -> None:
    assert assembled(*chunks).blocks() == tuple(expected)


def test_an_unknown_type_has_to_end() -> None:
    unknown: BlockType = "citation"  # type: ignore[assignment]  # what a stored log of a later version may hold
    assembler = assembled(BlockStart(0, unknown))
    with pytest.raises(ServerError) as caught:
        assembler.blocks()
    assert caught.value.code == "UNKNOWN_BLOCK_TYPE"
    assert assembler.interrupted_blocks() == ()
    assembler.push(BlockEnd(0, OPAQUE))
    assert assembler.blocks() == (OPAQUE,)


def test_ids_take_the_prefix_that_the_caller_chose() -> None:
    assembler = assembled(ToolCallDelta(0, "", "{}", "read"), call_prefix="t2-s1")
    assert assembler.blocks() == (ToolCallBlock("t2-s1-0", "read", "{}"),)


def test_the_last_usage_and_the_last_finish_count() -> None:
    assembler = assembled()
    assert (assembler.empty, assembler.finished, assembler.finish, assembler.usage) == (
        True,
        False,
        FinishChunk("stop"),
        None,
    )
    for chunk in (UsageChunk(TokenUsage(1, 2)), UsageChunk(TokenUsage(3, 4)), MAX_TOKENS, FinishChunk("refusal")):
        assembler.push(chunk)
    assert (assembler.finished, assembler.finish, assembler.usage) == (True, FinishChunk("refusal"), TokenUsage(3, 4))
    assembler.push(TextDelta(0, "a"))
    assert not assembler.empty


def test_the_interrupted_prefix_is_what_was_seen() -> None:
    assembler = assembled(
        ReasoningDelta(0, "think"),
        BlockEnd(0, ReasoningBlock("thought")),
        TextDelta(1, " \n"),
        ToolCallDelta(2, "c", "{}", "read"),
        BlockEnd(3, ToolCallBlock("d", "read", "{}")),
        TextDelta(4, " words "),
        BlockEnd(5, OPAQUE),
    )
    assert assembler.interrupted_blocks() == (ReasoningBlock("thought"), TextBlock(" words "))


REPLAY: dict[str, tuple[str, JsonValue, JsonValue]] = {
    "none": ("stop", None, None),
    "no list of blocks": ("stop", {"response": "r"}, {"response": "r"}),
    "no object": ("stop", "opaque", "opaque"),
    "as many as there are": ("stop", {"blocks": [1, 2, 3]}, {"blocks": [1, 2, 3]}),
    "too few": ("stop", {"blocks": [1, 2]}, None),
    "no list": ("stop", {"blocks": "abc"}, None),
    "dropped with the calls": ("max-tokens", {"response": "r", "blocks": [1, 2, 3]}, {"response": "r", "blocks": [1]}),
    "too few at max-tokens": ("max-tokens", {"blocks": [1]}, None),
}


@pytest.mark.parametrize(("kind", "state", "expected"), REPLAY.values(), ids=REPLAY.keys())
def test_replay_state(kind: str, state: JsonValue, expected: JsonValue) -> None:
    finish = FinishChunk("max-tokens" if kind == "max-tokens" else "stop", None, state)
    assembler = assembled(
        TextDelta(0, "a"), ToolCallDelta(1, "c", "{}"), BlockEnd(2, ToolCallBlock("d", "r", "")), finish
    )
    assert assembler.replay_state == expected
