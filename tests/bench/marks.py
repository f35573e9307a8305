"""The moments that the mock model writes into its deltas, read back from an answer's text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SENT = re.compile(r"t(\d+);")
_REQUESTED = re.compile(r"r(\d+);")


def requested(pieces: Sequence[tuple[int, str]]) -> int:
    """Return the moment at which the model had the whole request."""
    found = _REQUESTED.search("".join(text for _, text in pieces))
    if found is None:
        raise RuntimeError("the answer does not carry the moment of its request")
    return int(found[1])


def sent(pieces: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Return for each marked delta the moment of its frame and the moment at which the model sent it.

    A frame may hold several deltas, and a mark may be split between two frames; it counts where it ends.
    """
    text, ends = "", []
    for moment, piece in pieces:
        text += piece
        ends.append((len(text), moment))
    found, position = [], 0
    for mark in _SENT.finditer(text):
        while ends[position][0] < mark.end():
            position += 1
        found.append((ends[position][1], int(mark[1])))
    return found
