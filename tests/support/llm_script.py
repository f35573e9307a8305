"""What the mock model answers, in neutral words, and which answer a request gets.

An answer is an object with these keys: `text`; `tool` with `args`, or `calls`, a list of both; `reasoning`; `chunks`
(pieces of the text); `delay_ms` (between pieces); `finish`; `usage` (`input`, `output`, `cached`); `hang` (it answers,
then is silent); `overflow` (the provider's error for a prompt beyond its window); `status` with `headers` and `body`;
`times` (how often the answer is given). A Playback gives raw bytes instead.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.support.trace import Obj

Protocol: TypeAlias = Literal["chat", "responses", "anthropic"]
Ending: TypeAlias = Literal["clean", "cut", "stall"]
CallNames: TypeAlias = Callable[[str, Obj], tuple[str, Obj]]
"""Gives the agent's name of a neutral tool, and its arguments by the agent's names."""

AFTER_THE_LAST: Obj = {"text": "done"}


@dataclass(frozen=True, slots=True)
class Playback:
    """A raw HTTP answer: `pieces` are written one by one; then the body ends in order, is cut, or stays open."""

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    ending: Ending = "clean"
    pause_s: float = 0.0


Answer: TypeAlias = Obj | Playback


@dataclass(slots=True)
class Asked:
    """One recorded request; `messages` are in the shape of Chat Completions, whatever the protocol was."""

    at: float
    protocol: Protocol
    path: str
    headers: Mapping[str, str]
    body: Obj
    messages: list[Obj]
    answer: Answer = field(default_factory=dict)
    side: bool = False
    """It belongs to no turn, and was answered by `llm_else`."""
    refused: bool = False
    """It was answered with the overflow error."""
    hung_up: bool = False
    """The agent closed the connection before the answer was complete."""

    @property
    def size(self) -> int:
        """Return the bytes of the messages as JSON."""
        return len(json.dumps(self.messages, ensure_ascii=False).encode("utf-8", "replace"))

    @property
    def tools(self) -> list[str]:
        """Return the names of the offered tools."""
        offered = [t for t in self.body.get("tools") or [] if isinstance(t, dict)]
        return [str(t.get("name") or (t.get("function") or {}).get("name", "")) for t in offered]


def text_of(content: object) -> str:
    """Return the text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p.get("text", "")) for p in parts if isinstance(p, dict))


def pieces(text: str, count: int) -> list[str]:
    """Return the text in so many pieces of about one length, in fewer when it is short."""
    count = max(1, min(count, len(text) or 1))
    edges = [len(text) * n // count for n in range(count + 1)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def spread(answers: Sequence[Answer]) -> list[Answer]:
    """Return each answer as often as its `times` says."""
    return [a for a in answers for _ in range(1 if isinstance(a, Playback) else a.get("times", 1))]


class Script:
    """Chooses the answer to each request.

    `answers` go out in order, AFTER_THE_LAST when they are used up. With `keyed` a request takes the next answer of the
    entry whose text it has: in its last message when that is the user's, else where that text comes last in the user's
    messages; a request that has none of them is a side request and gets `other`.
    """

    def __init__(
        self,
        answers: Sequence[Answer] = (),
        *,
        keyed: Sequence[tuple[str, Sequence[Answer]]] = (),
        other: Answer | None = None,
        overflow_over_bytes: int | None = None,
    ) -> None:
        self.answers = spread(answers)
        self.keyed = [(text, spread(entry)) for text, entry in keyed]
        self.other: Answer = {"text": "Summary."} if other is None else other
        self.limit = overflow_over_bytes

    @staticmethod
    def of_case(case: Mapping[str, Any]) -> Script:
        """Return the script that a case's llm, llm_for, llm_else and overflow_over_bytes describe."""
        return Script(
            case.get("llm", []),
            keyed=[(entry["newest_user_has"], entry["answers"]) for entry in case.get("llm_for", [])],
            other=case.get("llm_else"),
            overflow_over_bytes=case.get("overflow_over_bytes"),
        )

    def choose(self, asked: Asked) -> Answer:
        left = self._entry(asked) if self.keyed else self.answers
        asked.side = left is None
        if self.limit and asked.size > self.limit:
            return {"overflow": True}
        if left is None:
            return self.other
        return left.pop(0) if left else AFTER_THE_LAST

    def _entry(self, asked: Asked) -> list[Answer] | None:
        users = [text_of(m.get("content")) for m in asked.messages if m.get("role") == "user"]
        if asked.messages and asked.messages[-1].get("role") == "user":
            users = users[-1:]
        for text in reversed(users):
            hits = [(text.rfind(mark), answers) for mark, answers in self.keyed if mark in text]
            if hits:
                return max(hits, key=lambda hit: hit[0])[1]
        return None
