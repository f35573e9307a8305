"""Hunks between two texts."""

from __future__ import annotations

import pytest

from acp_server.tools.diff import Hunk, hunks

TWENTY = "".join(f"{n}\n" for n in range(1, 21))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", ()),
        ("a\n", "a\n", ()),
        ("", "a\n", (Hunk(1, 1, 1, "", "a\n"),)),
        ("a\n", "", (Hunk(1, 1, 1, "a\n", ""),)),
        ("a", "a\n", (Hunk(1, 1, 1, "a", "a\n"),)),
        ("a\r\nb\r\n", "a\r\nB\r\n", (Hunk(2, 2, 1, "a\r\nb\r\n", "a\r\nB\r\n"),)),
        ("a\rb", "a\rB", (Hunk(2, 2, 1, "a\rb", "a\rB"),)),
        (
            TWENTY,
            TWENTY.replace("10\n", "ten\n"),
            (Hunk(10, 10, 7, "7\n8\n9\n10\n11\n12\n13\n", "7\n8\n9\nten\n11\n12\n13\n"),),
        ),
        (
            TWENTY,
            TWENTY.replace("2\n", "2\nnew\n", 1).replace("19\n", ""),
            (
                Hunk(3, 3, 1, "1\n2\n3\n4\n5\n", "1\n2\nnew\n3\n4\n5\n"),
                Hunk(19, 20, 17, "16\n17\n18\n19\n20\n", "16\n17\n18\n20\n"),
            ),
        ),
        (
            TWENTY,
            TWENTY.replace("8\n", "eight\n", 1).replace("12\n", "twelve\n"),
            (
                Hunk(
                    8,
                    8,
                    5,
                    "".join(f"{n}\n" for n in range(5, 16)),
                    "5\n6\n7\neight\n9\n10\n11\ntwelve\n13\n14\n15\n",
                ),
            ),
        ),
    ],
)
def test_hunks_have_lines_around_and_merge_when_near(old: str, new: str, found: tuple[Hunk, ...]) -> None:
    assert hunks(old, new) == found


def test_what_is_too_different_is_one_hunk() -> None:
    old = "".join(f"{n}\n" for n in range(500))
    new = "".join(f"new {n}\n" for n in range(500))
    (found,) = hunks(old, new)
    assert (found.old_line, found.new_line, found.old, found.new) == (1, 1, old, new)


def test_a_huge_line_is_cut_down_to_what_differs() -> None:
    old = "x" * 60_000 + "needle=1;" + "y" * 60_000
    new = old.replace("needle=1", "needle=2")
    (found,) = hunks(old, new)
    assert found == Hunk(1, 1, 1, f"…{'x' * 193}needle=1;{'y' * 199}…", f"…{'x' * 193}needle=2;{'y' * 199}…")


def test_a_change_in_each_tenth_of_equal_lines_is_a_hunk_of_its_own() -> None:
    old = ("x\n" + "-\n" * 9) * 100
    assert [hunk.old_line for hunk in hunks(old, old.replace("x", "y"))] == list(range(1, 1001, 10))
