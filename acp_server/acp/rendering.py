r"""Text as a person is shown it who has to decide about it: nothing in it can hide or move (docs/tools.md, clause Q-7).

Pure.

Owns the spelling of characters that are not seen, look like others of their kind, or change how the rest is drawn:
`\u{200B}`. The spelling is one to one: two different texts are never shown alike.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
"""Categories of characters that control, format, stand for nothing, or are blanks."""
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""Letters and marks that are drawn as nothing."""
BRIEF: Final = 60
"""Characters of a message that are shown where another one is in front."""
_ESCAPED: Final = re.compile(r"\\u\{([0-9A-F]+)\}")


def shown(text: str) -> str:
    """Return the text with what is not plainly seen spelled out; line ends stay."""
    if text.isascii() and text.replace("\n", "").isprintable() and "\\u{" not in text:
        return text
    return "".join(_shown(text, place) for place in range(len(text)))


def shown_line(text: str) -> str:
    """Return the same in one line."""
    return shown(text).replace("\n", r"\u{A}")


def brief(text: str) -> str:
    """Return the beginning of a text in one line, its blanks as one each."""
    plain = " ".join(text.split())
    return shown_line(plain if len(plain) <= BRIEF else f"{plain[: BRIEF - 1]}…")


def meant(text: str) -> str:
    """Return the text that is shown so."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def fenced(text: str) -> str:
    """Return the text as a block of code in Markdown, which it cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _shown(text: str, place: int) -> str:
    character = text[place]
    if character in " \n" or (character == "\\" and not text.startswith("\\u{", place)):
        return character
    if character == "\\" or unicodedata.category(character) in _HIDDEN or _UNSEEN.match(character):
        return f"\\u{{{ord(character):X}}}"
    return character
