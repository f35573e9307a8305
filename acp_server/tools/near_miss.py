"""What to tell a model whose search text is not in the file: the nearest text and what differs. Pure.

Owns the comparisons, from the most exact to the loosest. It never leads to a match: it only explains.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final

from acp_server.tools.bounds import cut_line
from acp_server.tools.text_file import split_lines

_MOST_CHARACTERS: Final = 2_000_000
_MOST_LINES: Final = 30_000
_MOST_COMPARED: Final = 5000
"""Lines of a file up to which each is compared letter by letter; that takes half a second."""
_SHOWN: Final = 8
_WIDTH: Final = 200
_LIKE: Final = 0.6
_NUMBERED: Final = re.compile(r"^ *\d+[\t|:→] ?", re.MULTILINE)
_LOOK_ALIKE: Final = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u2026": "...",
        "\u200b": "",
        "\u00ad": "",
    }
)


def _look_alike(line: str) -> str:
    return unicodedata.normalize("NFKC", line.translate(_LOOK_ALIKE))


_WAYS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("blanks at the ends of lines", str.rstrip),
    ("indentation", str.strip),
    ("blanks within lines", lambda line: "".join(line.split())),
    ("quotes, dashes or blanks that look alike", _look_alike),
    ("upper and lower case", str.casefold),
    ("several of: blanks, look-alike characters, case", lambda line: "".join(_look_alike(line).casefold().split())),
)


def near_miss(text: str, old: str) -> str:
    """Return the end of the sentence "the text to replace is not in the file"; always ends with a full stop.

    Shows the lines of the file that come nearest, blanks made visible where they are what differs.
    """
    if len(text) > _MOST_CHARACTERS or len(old) > _MOST_CHARACTERS // 10:
        return ". Read the place again and copy the text exactly."
    lines, wanted = split_lines(text), split_lines(old)
    if _NUMBERED.search(old) and _place(lines, split_lines(_NUMBERED.sub("", old)), str.strip) is not None:
        return "; it starts its lines with line numbers, which are not part of the file. Leave them out."
    for what, way in _WAYS:
        at = _place(lines, wanted, way)
        if at is not None:
            return _explained(lines, at, len(wanted), what)
    if "\\n" in old and old.replace("\\n", "\n").replace("\\t", "\t") in text:
        return '; it is with "\\n" and "\\t" written as line ends and tabs. Send those characters themselves.'
    return _nearest(lines, wanted)


def _place(lines: Sequence[str], wanted: Sequence[str], way: Callable[[str], str]) -> int | None:
    """Return where the wanted lines stand, compared in that way; the first and last may be parts of lines."""
    made = [way(line) for line in wanted]
    if not any(made) or len(lines) > _MOST_LINES:
        return None
    theirs = [way(line) for line in lines]
    if len(made) == 1:
        return next((i for i, line in enumerate(theirs) if made[0] in line), None)
    first, inner, last = made[0], made[1:-1], made[-1]
    for i in range(len(theirs) - len(made) + 1):
        end = i + len(made) - 1
        if theirs[i].endswith(first) and theirs[i + 1 : end] == inner and theirs[end].startswith(last):
            return i
    return None


def _explained(lines: Sequence[str], at: int, count: int, what: str) -> str:
    visible = "blanks" in what or what == "indentation"
    shown = _quoted(lines, at, count, visible=visible)
    marks = " (· is a blank, → a tab)" if visible else ""
    return f", but lines {at + 1} to {at + count} differ from it only in {what}. The file has{marks}:\n{shown}"


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the line most like the longest wanted line, with what stands around it."""
    key = max(wanted, key=lambda line: len(line.strip()), default="").strip()
    if len(lines) > _MOST_COMPARED or not 3 < len(key) <= _WIDTH * 2:
        return ". Read the place again and copy the text exactly."
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    best, at = _LIKE, None
    for i, line in enumerate(lines):
        bare = line.strip()
        if not bare or abs(len(bare) - len(key)) > len(key):
            continue
        matcher.set_seq1(bare)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, at = ratio, i
    if at is None:
        return "; nothing in it comes near. Read the file again."
    start = max(0, at - wanted.index(next(line for line in wanted if line.strip() == key)))
    count = min(len(wanted), _SHOWN)
    return f". The nearest lines, from line {start + 1} on, are:\n{_quoted(lines, start, count, visible=False)}"


def _quoted(lines: Sequence[str], at: int, count: int, *, visible: bool) -> str:
    shown = [cut_line(line, _WIDTH) for line in lines[at : at + min(count, _SHOWN)]]
    if visible:
        shown = [line.replace(" ", "·").replace("\t", "→") for line in shown]
    more = f"\n… {count - _SHOWN} more lines" if count > _SHOWN else ""
    return "\n".join(shown) + more
