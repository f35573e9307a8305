"""What a provider's stream is made of, as neutral values (docs/llm.md, clauses C-1 to C-9).

Grammar of a stream: any mix of blocks and usages, one finish, which is last. A delta names its block by
`index`; indexes are chosen by the decoder in order of appearance.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.blocks import Block

BlockType: TypeAlias = Literal["text", "reasoning", "tool-call"]


@value
class BlockStart:
    """A block begins; optional, deltas may come without it."""

    index: int
    block_type: BlockType


@value
class TextDelta:
    """More words of a text block."""

    index: int
    text: str


@value
class ReasoningDelta:
    """More thinking of a reasoning block."""

    index: int
    text: str


@value
class ToolCallDelta:
    """More of a call's raw argument text; `name` is None when this delta does not carry it."""

    index: int
    id: str
    arguments: str
    name: str | None = None


@value
class BlockEnd:
    """The block as it finally is; authoritative over its deltas."""

    index: int
    block: Block


@value
class TokenUsage:
    """Tokens of one attempt. Buckets are disjoint, but `reasoning` is a part of `output`; None means not told.

    `cost` is what the provider itself says that the attempt cost, in US dollars.
    """

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost: float | None = None


@value
class UsageChunk:
    """What the attempt has cost so far; a later one takes the place of those before."""

    usage: TokenUsage


@value
class LlmFailure:
    """Why a model did not answer: a code of docs/llm.md's table and one plain sentence.

    `status` is the HTTP status, `retry_after_ms` what the provider asked for, `request_id` what to quote to it.
    """

    code: str
    message: str
    status: int | None = None
    retry_after_ms: int | None = None
    request_id: str | None = None


FinishKind: TypeAlias = Literal["stop", "pause", "tool-calls", "max-tokens", "refusal", "aborted", "error"]


@value
class FinishChunk:
    """How the stream ended; `failure` is there for aborted and error, and only then.

    After `pause` the model has more to say and waits to be asked again with what it said so far.
    """

    kind: FinishKind
    failure: LlmFailure | None = None
    replay_state: JsonValue = None


StreamChunk: TypeAlias = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | FinishChunk
