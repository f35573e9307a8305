"""A script as values: what a scripted model does at each step and each try (docs/llm.md, clause X-2). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from acp_server.messages.chunks import FinishKind, LlmFailure, TokenUsage


@dataclass(frozen=True, slots=True)
class Say:
    """Words of the answer; neighbours make one block."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Words of the reasoning; neighbours make one block."""

    text: str


@dataclass(frozen=True, slots=True)
class Burst:
    """So many deltas of the answer, as fast as they are taken; `{n}` in the text is the delta's number from 0."""

    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` is its raw text, which may be no JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds between deltas from here on."""

    ms: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """Into how many deltas texts are cut from here on; 0 means one a word."""

    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Milliseconds in which nothing comes."""

    ms: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What the answer reports to have cost."""

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class End:
    """The end: a finish of that kind, a failure, silence for ever, or a stream without a finish."""

    how: FinishKind | LlmFailure | Literal["hang", "cut"]


Statement: TypeAlias = Say | Think | Burst | Call | Pace | Pieces | Wait | Usage | End
Try: TypeAlias = tuple[Statement, ...]
Script: TypeAlias = tuple[tuple[Try, ...], ...]
"""Steps of a turn, each with one or more tries; neither is ever empty."""
