"""Replacing a piece of a text that occurs exactly once, or everywhere. Pure.

Owns what counts as the same text: every character, but that one line end is as good as another. Inserts literally,
with the line ends that stand in the file. Refuses what is not found and what is not unique.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from acp_server.base.values import value
from acp_server.tools.near_miss import near_miss
from acp_server.tools.text_file import LineEnd, line_at, line_end
from acp_server.tools.tool import ToolError

_NUMBERS_SHOWN: Final = 10
_COUNTED: Final = 10_000
"""Matches that are counted one by one for the error of a text that is not unique."""


@value
class Replacement:
    """The text after, and how many places were changed."""

    text: str
    count: int


def replace_text(text: str, old: str, new: str, *, every: bool = False) -> Replacement:
    """Return the text with `old` replaced by `new`: at its only place, or at every place from the start on.

    Raises:
        ToolError: EMPTY_SEARCH, NO_CHANGE, NO_MATCH (with the nearest text), NOT_UNIQUE (with count and lines).
    """
    if not old:
        raise ToolError("EMPTY_SEARCH", "the text to replace is empty; to set the whole content, write the file")
    if old == new:
        raise ToolError("NO_CHANGE", "the new text is the same as the old one, so nothing would change")
    spans = _spans(text, old, overlapping=not every)
    if not spans:
        raise ToolError("NO_MATCH", f"the text to replace is not in the file{near_miss(text, old)}")
    if len(spans) > 1 and not every:
        raise ToolError("NOT_UNIQUE", _not_unique(text, spans))
    changed = _joined(text, spans, new)
    if changed == text:
        raise ToolError("NO_CHANGE", "the new text differs from the old one in line ends only, so nothing would change")
    return Replacement(changed, len(spans))


def fit_line_ends(text: str, start: int, stop: int, new: str) -> str:
    """Return `new` with the line ends that it has to have in place of `text[start:stop]`.

    A text with one kind of line end gives it to all. In a mixed one, lines that stay keep their own, changed lines
    take those of the lines they replace, and the others that of most lines.
    """
    end = line_end(text)
    if end is None:
        return new
    lines = _unified(new, end).split("\n")
    if len(lines) == 1:
        return lines[0]
    if end == "\r" or "\r\n" not in text or text.count("\r\n") == text.count("\n"):
        return end.join(lines)
    return _with_kept_ends(_lines_and_ends(text[start:stop]), lines, end)


def _spans(text: str, old: str, *, overlapping: bool) -> list[tuple[int, int]]:
    if "\r" not in text:
        return _plain_spans(text, old.replace("\r\n", "\n"), overlapping=overlapping)
    end = line_end(text)
    pieces = _unified(old, end).split("\n") if end is not None else [old]
    break_ = "\r" if end == "\r" else r"(?:\r\n|(?<!\r)\n)"
    # A CR that belongs to a CRLF is never matched without its LF.
    source = break_.join(re.escape(piece).replace("\\\r", "\\\r(?!\n)") for piece in pieces)
    pattern = re.compile(f"(?=({source}))" if overlapping else f"({source})")
    found = []
    for match in pattern.finditer(text):
        found.append(match.span(1))
        if len(found) == _COUNTED and overlapping:
            break
    return found


def _plain_spans(text: str, old: str, *, overlapping: bool) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = text.find(old)
    while at >= 0 and not (overlapping and len(found) == _COUNTED):
        found.append((at, at + len(old)))
        at = text.find(old, at + (1 if overlapping else len(old)))
    return found


def _joined(text: str, spans: list[tuple[int, int]], new: str) -> str:
    pieces, at = [], 0
    for start, stop in spans:
        pieces += [text[at:start], fit_line_ends(text, start, stop, new)]
        at = stop
    return "".join([*pieces, text[at:]])


def _unified(text: str, end: LineEnd) -> str:
    unified = text.replace("\r\n", "\n")
    return unified.replace("\r", "\n") if end == "\r" else unified


def _lines_and_ends(text: str) -> list[tuple[str, Literal["\n", "\r\n", ""]]]:
    """Return the lines of a text that has LF and CRLF, each with its end; the last one has none."""
    *ended, last = text.split("\n")
    pairs: list[tuple[str, Literal["\n", "\r\n", ""]]] = [
        (line[:-1], "\r\n") if line.endswith("\r") else (line, "\n") for line in ended
    ]
    return [*pairs, (last, "")]


def _with_kept_ends(old: list[tuple[str, Literal["\n", "\r\n", ""]]], new: list[str], end: LineEnd) -> str:
    ends = [one for _, one in old[:-1]]
    room = min(len(old), len(new)) - 1
    first = next((i for i in range(room) if old[i][0] != new[i]), room)
    last = next((i for i in range(room - first) if old[-1 - i][0] != new[-1 - i]), room - first)
    stay = min(len(ends), max(first, len(old) - last))
    pieces = [new[0]]
    for i in range(len(new) - 1):
        from_end = len(new) - 1 - i
        kept = ends[-from_end] if from_end < last else ends[i] if i < stay else end
        pieces += [kept, new[i + 1]]
    return "".join(pieces)


def _not_unique(text: str, spans: list[tuple[int, int]]) -> str:
    count = f"{len(spans)}{' or more' if len(spans) == _COUNTED else ''}"
    numbers = [str(line_at(text, start)) for start, _ in spans[:_NUMBERS_SHOWN]]
    more = ", …" if len(spans) > _NUMBERS_SHOWN else ""
    return (
        f"the text to replace is there {count} times, in lines {', '.join(numbers)}{more}; nothing was written. "
        "Add lines around it until it is unique, or replace all."
    )
