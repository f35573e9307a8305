"""Cutting what is too long."""

from __future__ import annotations

import pytest

from acp_server.tools.bounds import Taken, cut_around, cut_line, one_line, take_lines


def test_a_long_line_says_how_much_is_gone() -> None:
    assert cut_line("abc", 3) == "abc"
    assert cut_line("x" * 3000) == "x" * 2000 + "… [1,000 more characters]"


@pytest.mark.parametrize(
    ("start", "stop", "cut"),
    [
        (0, 2, "0123456789… [90 characters]"),
        (98, 100, "[90 characters] …0123456789"),
        (50, 52, "[46 characters] …6789012345… [44 characters]"),
        (20, 90, "[20 characters] …0123456789… [70 characters]"),
    ],
)
def test_a_long_line_is_cut_around_a_place(start: int, stop: int, cut: str) -> None:
    assert cut_around("0123456789" * 10, start, stop, 10) == cut


def test_a_short_line_stays() -> None:
    assert cut_around("short", 1, 2, 10) == "short"


def test_lines_are_taken_within_both_limits() -> None:
    assert take_lines(["a", "b", "c"], 3) == Taken(("a", "b", "c"), more=False)
    assert take_lines(["a", "b", "c"], 2) == Taken(("a", "b"), more=True)
    assert take_lines(["ä", "b"], 9, 4) == Taken(("ä",), more=True)
    assert take_lines(["too long", "b"], 9, 4) == Taken(("too long",), more=True)


def test_a_title_is_one_line() -> None:
    assert one_line("a\n  b\tc", 9) == "a b c"
    assert one_line("abcdef", 4) == "abc…"
