"""Hunks: what changed between two texts, with a few lines around. Pure.

Owns the comparison, bounded whatever the texts are. What a card or a model shows of it is the callers' matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from acp_server.base.values import value
from acp_server.tools.text_file import split_keeping_ends

AROUND: Final = 3
_DIFFERENCES: Final = 600
"""Lines taken away and added up to which the shortest way between the texts is sought; its cost is their square."""
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


Change: TypeAlias = tuple[int, int, int, int]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Return the ranges that differ, as (old start, old stop, new start, new stop)."""
    room = min(len(old), len(new))
    head = next((i for i in range(room) if old[i] != new[i]), room)
    room -= head
    tail = next((i for i in range(room) if old[-1 - i] != new[-1 - i]), room)
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if not left and not right:
        return
    kept = _common(left, right)
    a = b = 0
    for c, d in [*(kept or []), (len(left), len(right))]:
        if c > a or d > b:
            yield head + a, head + c, head + b, head + d
        a, b = c + 1, d + 1


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the pairs of lines that stay on the shortest way from one text to the other; None when it is too long.

    The greedy way of Myers: `reach[k]` is how far in the old text one comes on diagonal k with so many differences.
    """
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for differences in range(_DIFFERENCES + 1):
        trace.append(dict(reach))
        for k in range(-differences, differences + 1, 2):
            down = k == -differences or (k != differences and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return _way_back(trace, len(old), len(new))
    return None


def _way_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for differences in range(len(trace) - 1, -1, -1):
        reach, k = trace[differences], x - y
        down = k == -differences or (k != differences and reach[k - 1] < reach[k + 1])
        before = reach[k + 1] if down else reach[k - 1]
        start = (before if down else before + 1) if differences else 0
        while x > start:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = before, before - (k + 1 if down else k - 1)
    return kept[::-1]


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
