"""Cutting what is too long for a model to read, always with a mark that says how much is gone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from acp_server.base.values import value

MOST_BYTES: Final = 32 * 1024
"""UTF-8 bytes of one result that go to the model."""

MOST_OF_A_LINE: Final = 2000
"""Characters of one line that go to the model."""


@value
class Taken:
    """The first lines that fit, and whether more were there."""

    lines: tuple[str, ...]
    more: bool


def cut_line(line: str, most: int = MOST_OF_A_LINE) -> str:
    """Return the line, or its first `most` characters and how many are left out."""
    return line if len(line) <= most else f"{line[:most]}… [{len(line) - most:,} more characters]"


def cut_around(line: str, start: int, stop: int, most: int) -> str:
    """Return the line, or about `most` characters of it around the place from `start` to `stop`, cuts marked."""
    if len(line) <= most:
        return line
    left = max(0, min(start - (most - min(stop - start, most)) // 2, len(line) - most))
    right = left + most
    before = f"[{left:,} characters] …" if left else ""
    after = f"… [{len(line) - right:,} characters]" if right < len(line) else ""
    return f"{before}{line[left:right]}{after}"


def take_lines(lines: Iterable[str], most_lines: int, most_bytes: int = MOST_BYTES) -> Taken:
    """Return the first lines within both limits; the first one is taken whatever its size."""
    taken: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if len(taken) == most_lines or (taken and size > most_bytes):
            return Taken(tuple(taken), more=True)
        taken.append(line)
    return Taken(tuple(taken), more=False)


def one_line(text: str, most: int) -> str:
    """Return the text on one line of at most `most` characters, cut at its end with an ellipsis."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
