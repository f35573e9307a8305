"""Matching lines as a model reads them: by file, with numbers, with lines around, long ones cut. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from acp_server.base.values import value
from acp_server.tools.bounds import MOST_BYTES, cut_around, cut_line

_WIDTH: Final = 400


@value
class FileLines:
    """A file's searched text and its matching lines: number from 1, start and end of the match in the line."""

    path: str
    text: str
    lines: tuple[tuple[int, int, int], ...]


@value
class Rendered:
    """Lines to show, and how many matches and files they hold."""

    lines: tuple[str, ...]
    matches: int
    files: int


def render(files: Sequence[FileLines], context: int, show: Callable[[str], str], most: int = MOST_BYTES) -> Rendered:
    """Return what fits: for each file its path, then `12: text` for a match and `13- text` for a line around.

    `--` stands between lines that do not follow each other when lines around are shown.
    """
    lines: list[str] = []
    size = matches = shown_files = 0
    for file in files:
        heading = [*([""] if lines else []), show(file.path)]
        for group in _groups(file, context):
            gap = ["--"] if context and not heading else []
            block = [*heading, *gap, *(line for line, _ in group)]
            size += sum(len(line.encode("utf-8", "replace")) + 1 for line in block)
            if size > most and lines:
                return Rendered(tuple(lines), matches, shown_files)
            shown_files += bool(heading)
            matches += sum(matched for _, matched in group)
            lines += block
            heading = []
    return Rendered(tuple(lines), matches, shown_files)


def _groups(file: FileLines, context: int) -> Iterator[list[tuple[str, bool]]]:
    """Yield runs of lines that follow each other; without lines around each match is a run of its own."""
    text = file.text.split("\n")
    places = {number: (start, stop) for number, start, stop in file.lines}
    group: list[tuple[str, bool]] = []
    last = 0
    for number, _, _ in file.lines:
        first = max(last + 1, number - context)
        if group and (first > last + 1 or not context):
            yield group
            group = []
        end = min(number + context, len(text) - (not text[-1]))
        group += [_line(text[n - 1], n, places.get(n)) for n in range(first, max(end, last) + 1)]
        last = max(end, last)
    if group:
        yield group


def _line(text: str, number: int, place: tuple[int, int] | None) -> tuple[str, bool]:
    bare = _printable(text.removesuffix("\r"))
    if place is None:
        return f"{number}- {cut_line(bare, _WIDTH)}", False
    return f"{number}: {cut_around(bare, *place, _WIDTH)}", True


def _printable(text: str) -> str:
    """Return the text with bytes that are no UTF-8 shown as windows-1252 has them, one character for each."""
    if text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text):
        return text
    return "".join(
        bytes([ord(one) - 0xDC00]).decode("windows-1252", "replace") if "\udc80" <= one <= "\udcff" else one
        for one in text
    )
