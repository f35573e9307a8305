"""A command line as plain words, or not at all (docs/tools.md, clauses G-1 to G-4). Pure.

The grammar is a small part of the shell's: simple commands of literal words, joined by `&&`, `||`, `;` and `|`.
Everything whose meaning a shell works out is outside of it: variables, substitutions, globs, braces, tildes,
redirections, comments, escapes, assignments, line ends and any character that is not printable ASCII.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 2000
_WORD: Final = re.compile(
    r"""'(?P<single>[^']*)' | "(?P<double>[^"$`\\!]*)" | (?P<bare>(?:[A-Za-z0-9_./:,=@%+^-] | (?<=[A-Za-z0-9])~)+)""",
    re.VERBOSE,
)
_JOINT: Final = re.compile(r"(&&|\|\||;|\|)")

Words = tuple[str, ...]


def split_command(command: str) -> tuple[Words, ...] | None:
    """Return the simple commands in order, each as its words, or None when the text is outside of the grammar.

    The first word of each is bare, since a quoted name is never needed for a known command. A tilde stands only where
    a shell leaves it alone, behind a letter or a digit (`HEAD~1`).
    """
    if not 0 < len(command) <= LONGEST or any(not " " <= character <= "~" for character in command):
        return None
    commands: list[Words] = []
    words: list[str] = []
    position, blank = 0, True
    while position < len(command):
        if command[position] == " ":
            position, blank = position + 1, True
            continue
        joint = _JOINT.match(command, position)
        if joint is not None:
            if not words:
                return None
            commands.append(tuple(words))
            words, position, blank = [], joint.end(), True
            continue
        word = _WORD.match(command, position)
        if word is None or not blank or (not words and word["bare"] is None):
            return None
        words.append(next(text for text in word.groups() if text is not None))
        position, blank = word.end(), False
    if not words:
        return None
    return (*commands, tuple(words))
