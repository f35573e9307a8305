"""Hunks: what changed between two texts, with a few lines around. Pure.

Owns the comparison, bounded whatever the texts are. What a card or a model shows of it is the callers' matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from acp_server.base.values import value
from acp_server.tools.text_file import split_keeping_ends

AROUND: Final = 3
_COMPARED: Final = 2000
"""Lines on each side, between what is equal at both ends, that are compared line by line."""
_WIDE: Final = 4000
_NEAR: Final = 200


@value
class Hunk:
    """One changed place: the first changed line in either text, from 1, and the text of both with lines around."""

    old_line: int
    new_line: int
    first_shown: int
    old: str
    new: str


def hunks(old: str, new: str, around: int = AROUND) -> tuple[Hunk, ...]:
    """Return the changed places in order; none when the texts are equal.

    Where too much differs to be compared, it is one hunk. A hunk of very long lines is cut down to what differs.
    """
    theirs, ours = split_keeping_ends(old), split_keeping_ends(new)
    blocks = list(_grouped(list(_changes(theirs, ours)), around))
    return tuple(_hunk(theirs, ours, block, around) for block in blocks)


Change = tuple[int, int, int, int]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Return the ranges that differ, as (old start, old stop, new start, new stop)."""
    room = min(len(old), len(new))
    head = next((i for i in range(room) if old[i] != new[i]), room)
    room -= head
    tail = next((i for i in range(room) if old[-1 - i] != new[-1 - i]), room)
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if not left and not right:
        return
    if len(left) > _COMPARED or len(right) > _COMPARED:
        yield head, head + len(left), head, head + len(right)
        return
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=len(left) > _COMPARED // 4).get_opcodes():
        if tag != "equal":
            yield head + a, head + b, head + c, head + d


def _grouped(changes: Sequence[Change], around: int) -> Iterator[list[Change]]:
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > around * 2:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Change], around: int) -> Hunk:
    first, last = group[0], group[-1]
    old_from, new_from = max(0, first[0] - around), max(0, first[2] - around)
    before = "".join(old[old_from : last[1] + around])
    after = "".join(new[new_from : last[3] + around])
    if len(before) + len(after) > _WIDE and max(map(len, (*old[old_from : last[1] + around], ""))) > _WIDE // 2:
        before, after = _differing(before, after)
    return Hunk(first[0] + 1, first[2] + 1, new_from + 1, before, after)


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return both texts without the bulk of what they share at their ends."""
    room = min(len(old), len(new))
    head = next((i for i in range(room) if old[i] != new[i]), room)
    room -= head
    tail = next((i for i in range(room) if old[-1 - i] != new[-1 - i]), room)
    left, right = max(0, head - _NEAR), max(0, tail - _NEAR)
    marks = ("…" if left else "", "…" if right else "")
    return (
        f"{marks[0]}{old[left : len(old) - right]}{marks[1]}",
        f"{marks[0]}{new[left : len(new) - right]}{marks[1]}",
    )
