"""Script text to values (docs/llm.md, clauses X-2 to X-4). Pure; every refusal names its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from acp_server.llm.failure import LlmError
from acp_server.llm.scripted.script import (
    Burst,
    Call,
    End,
    Pace,
    Pieces,
    Say,
    Script,
    Statement,
    Think,
    Try,
    Usage,
    Wait,
)
from acp_server.messages.chunks import FinishKind, LlmFailure, TokenUsage

LONGEST_MS: Final = 3_600_000
MOST_PIECES: Final = 1_000_000
MOST_BURST_CHARACTERS: Final = 64 * 1024 * 1024
_FINISHES: Final[Mapping[str, FinishKind]] = {
    "stop": "stop",
    "tool-calls": "tool-calls",
    "max-tokens": "max-tokens",
    "refusal": "refusal",
}


class _WrongError(ValueError):
    """What is wrong with a line, in words."""


def parse_script(text: str, first_line: int = 1) -> Script:
    """Return the script; `first_line` is the number of its first line in what the person wrote.

    Raises:
        LlmError: INVALID_SCRIPT, with the number of the line.
    """
    steps: list[list[list[Statement]]] = [[[]]]
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            _add(steps, line)
        except _WrongError as wrong:
            raise LlmError("INVALID_SCRIPT", f"Line {number} of the script: {wrong}.") from None
    return tuple(tuple(_try(part) for part in step) for step in steps)


def _try(part: list[Statement]) -> Try:
    return tuple(part)


def _add(steps: list[list[list[Statement]]], line: str) -> None:
    word, _, rest = line.partition(" ")
    if word in ("step", "attempt"):
        if rest:
            raise _WrongError(f"'{word}' stands alone")
        if word == "step":
            steps.append([[]])
        else:
            steps[-1].append([])
        return
    reader = _READERS.get(word)
    if reader is None:
        raise _WrongError(f"{word!r} is no statement; there are {', '.join([*_READERS, 'step', 'attempt'])}")
    part = steps[-1][-1]
    if part and isinstance(part[-1], End):
        raise _WrongError(f"{word!r} follows the end of the answer; write 'step' or 'attempt' before it")
    part.append(reader(rest.strip()))


def escape(text: str) -> str:
    """Return text as `say` and its like take it: on one line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _text(rest: str) -> str:
    if not rest:
        raise _WrongError("a text is missing")
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "s": " "}.get(match[1], match[1]), rest)


def _number(word: str, most: int, least: int = 0) -> int:
    if not re.fullmatch(r"\d{1,12}", word, re.ASCII) or not least <= int(word) <= most:
        raise _WrongError(f"a whole number from {least} to {most} is needed, not {word!r}")
    return int(word)


def _burst(rest: str) -> Burst:
    count, _, text = rest.partition(" ")
    burst = Burst(_number(count, MOST_PIECES, 1), _text(text.strip()))
    if burst.count * len(burst.text) > MOST_BURST_CHARACTERS:
        raise _WrongError(f"a burst has at most {MOST_BURST_CHARACTERS} characters")
    return burst


def _call(rest: str) -> Call:
    name, _, arguments = rest.partition(" ")
    if not name:
        raise _WrongError("the name of a tool is missing")
    return Call(name, arguments.strip())


def _usage(rest: str) -> Usage:
    words = rest.split()
    if len(words) not in (2, 3):
        raise _WrongError("'usage' takes the input, the output and maybe the cached tokens")
    numbers = [_number(word, 10**9) for word in words]
    return Usage(TokenUsage(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None))


def _error(rest: str) -> End:
    facts: dict[str, str] = {}
    while match := re.search(r"(?:^|\s)(status|retry_after)=(\S+)$", rest):
        facts[match[1]] = match[2]
        rest = rest[: match.start()].rstrip()
    code, _, message = rest.partition(" ")
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", code):
        raise _WrongError("'error' takes a code in capitals and a message")
    status = _number(facts["status"], 599, 100) if "status" in facts else None
    wait = _seconds(facts["retry_after"]) if "retry_after" in facts else None
    return End(LlmFailure(code, _text(message.strip()) if message.strip() else code, status, wait))


def _seconds(word: str) -> int:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", word, re.ASCII) or float(word) <= 0:
        raise _WrongError(f"'retry_after' takes seconds, not {word!r}")
    return round(float(word) * 1000)


def _finish(rest: str) -> End:
    if rest not in _FINISHES:
        raise _WrongError(f"'finish' takes one of {', '.join(_FINISHES)}")
    return End(_FINISHES[rest])


def _alone(end: End) -> Callable[[str], End]:
    def read(rest: str) -> End:
        if rest:
            raise _WrongError(f"'{end.how}' stands alone")
        return end

    return read


_READERS: Final[Mapping[str, Callable[[str], Statement]]] = {
    "say": lambda rest: Say(_text(rest)),
    "think": lambda rest: Think(_text(rest)),
    "burst": _burst,
    "call": _call,
    "pace": lambda rest: Pace(_number(rest, LONGEST_MS)),
    "chunks": lambda rest: Pieces(0 if rest == "words" else _number(rest, MOST_PIECES, 1)),
    "wait": lambda rest: Wait(_number(rest, LONGEST_MS)),
    "usage": _usage,
    "error": _error,
    "hang": _alone(End("hang")),
    "cut": _alone(End("cut")),
    "finish": _finish,
}
