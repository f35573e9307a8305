"""Globs over relative POSIX paths, as compiled expressions. Pure.

Owns the pattern language of the tools: `*`, `?`, `[...]`, `{a,b}`, `**`, and a backslash before a character to take it
literally. A pattern without a slash matches a name at any depth. Refuses what it cannot read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from acp_server.tools.tool import ToolError

_MOST_NESTED: Final = 8
_LITERAL: Final = re.compile(r"[\w.+-]*\*?[\w.+-]*", re.ASCII)


@lru_cache(maxsize=64)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Return an expression that fully matches the paths that the glob names.

    Raises:
        ToolError: INVALID_GLOB, an open bracket or brace, a pattern of nothing.
    """
    pattern = glob.removeprefix("./").lstrip("/")
    if not pattern:
        raise ToolError("INVALID_GLOB", f"the glob {glob!r} names nothing")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    try:
        return re.compile(anywhere + translate(pattern), re.DOTALL)
    except (ValueError, re.error) as error:
        raise ToolError("INVALID_GLOB", f"the glob {glob!r} cannot be read: {error}") from error


def plain_name(glob: str) -> str | None:
    """Return a glob of names that covers all that this glob names, where it is of the simplest kind; else None."""
    name = glob.rpartition("/")[2]
    return name if name and name != "*" and "{" not in glob and _LITERAL.fullmatch(name) else None


def split_base(glob: str) -> tuple[str, str]:
    """Return the leading directories without special characters, and the rest of the glob."""
    parts = glob.split("/")
    plain = next((i for i, part in enumerate(parts[:-1]) if re.search(r"[*?\[{\\]", part)), len(parts) - 1)
    return "/".join(parts[:plain]), "/".join(parts[plain:])


def translate(pattern: str, *, braces: bool = True) -> str:
    """Return the source of an expression for a glob.

    Raises:
        ValueError: a bracket or brace that is not closed, or braces nested too deeply.
    """
    pieces: list[str] = []
    depth = at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            piece, at = _stars(pattern, at)
        elif character == "?":
            piece = "[^/]"
        elif character == "[":
            piece, at = _class(pattern, at)
        elif character == "\\" and at < len(pattern):
            piece, at = re.escape(pattern[at]), at + 1
        elif braces and character in "{,}" and (depth or character == "{"):
            piece = {"{": "(?:", ",": "|", "}": ")"}[character]
            depth += {"{": 1, ",": 0, "}": -1}[character]
        else:
            piece = re.escape(character)
        pieces.append(piece)
        if depth > _MOST_NESTED:
            raise ValueError("braces are nested too deeply")
    if depth:
        raise ValueError("a brace is not closed")
    return "".join(pieces)


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression for the stars of which the first was read, and where reading goes on."""
    start, end = at - 1, at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_part = (start == 0 or pattern[start - 1] in "/{,") and (end == len(pattern) or pattern[end] in "/},")
    if end - start == 1 or not whole_part:
        return "[^/]*", end
    if end < len(pattern) and pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return ".*", end


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression for a class of characters whose bracket was read, and where reading goes on."""
    negated = pattern[at : at + 1] in ("!", "^")
    first = at + negated
    end = pattern.find("]", first + 1)
    if end < 0:
        raise ValueError("a bracket is not closed")
    inside = pattern[first:end]
    items = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside)
    return f"(?!/)[{'^' if negated else ''}{items}]", end + 1
