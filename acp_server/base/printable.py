"""Text made fit for one line of a terminal. Pure."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return one line in which every character that is not printed as itself is an escape such as `\x1b`."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
