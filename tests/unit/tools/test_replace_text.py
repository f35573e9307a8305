"""Replacing text that is there exactly once, or everywhere."""

from __future__ import annotations

import pytest

from acp_server.tools.replace_text import Replacement, fit_line_ends, replace_text
from acp_server.tools.tool import ToolError


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a b c", "b", "B", "a B c"),
        ("log('x')", "'x'", r"$& $1 \1 \g<0> \n", r"log($& $1 \1 \g<0> \n)"),
        ("a = 1\r\nb = 2\r\n", "a = 1\nb = 2\n", "a = 1\nb = 20\nc = 3\n", "a = 1\r\nb = 20\r\nc = 3\r\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nb", "A\r\nB", "A\r\nB\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "A\r\nB", "A\nB\n"),
        ("a\nb\n", "b", "b\r\nc", "a\nb\nc\n"),
        ("a\rb\rc", "a\nb", "A\nX\nB", "A\rX\rB\rc"),
        ("one", "one", "one\ntwo", "one\ntwo"),
        ("one", "one", "one\r\ntwo", "one\r\ntwo"),
        ("x\r\ny", "\ny", "\nz", "x\r\nz"),
        ("a\rb\nc", "a\rb", "A\rB", "A\rB\nc"),
        ("keep\ndrop\n", "drop\n", "", "keep\n"),
        ("a.b", ".", "+", "a+b"),
    ],
)
def test_one_place_is_replaced_literally(text: str, old: str, new: str, after: str) -> None:
    assert replace_text(text, old, new) == Replacement(after, 1)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nB\nc\nd", "a\r\nB\nc\r\nd\n"),
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nx\ny\nz\nc\nd", "a\r\nx\ny\r\nz\r\nc\r\nd\n"),
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nd", "a\r\nd\n"),
        ("a\nb\r\nc\nd\n", "b", "b\nbb", "a\nb\nbb\r\nc\nd\n"),
    ],
)
def test_mixed_line_ends_stay_where_their_lines_stay(text: str, old: str, new: str, after: str) -> None:
    assert replace_text(text, old, new) == Replacement(after, 1)


def test_a_whole_text_keeps_its_line_ends() -> None:
    assert fit_line_ends("a\r\nb\r\n", 0, 6, "x\ny\n") == "x\r\ny\r\n"


def test_every_place_is_replaced_from_the_start_on() -> None:
    assert replace_text("x\nx\nxx", "x", "yy", every=True) == Replacement("yy\nyy\nyyyy", 4)
    assert replace_text("aaa", "aa", "b", every=True) == Replacement("ba", 1)
    assert replace_text("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", every=True) == Replacement("c\r\nc\r\n", 2)


@pytest.mark.parametrize(
    ("text", "old", "new", "code", "message"),
    [
        (
            "x = 1\nx = 1\n",
            "x = 1",
            "x = 9",
            "NOT_UNIQUE",
            (
                "the text to replace is there 2 times, in lines 1, 2; nothing was written. "
                "Add lines around it until it is unique, or replace all."
            ),
        ),
        (
            "aaa",
            "aa",
            "b",
            "NOT_UNIQUE",
            (
                "the text to replace is there 2 times, in lines 1, 1; nothing was written. "
                "Add lines around it until it is unique, or replace all."
            ),
        ),
        (
            "x\r\n" * 12,
            "x\n",
            "y\n",
            "NOT_UNIQUE",
            (
                "the text to replace is there 12 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …; "
                "nothing was written. Add lines around it until it is unique, or replace all."
            ),
        ),
        ("abc", "", "X", "EMPTY_SEARCH", "the text to replace is empty; to set the whole content, write the file"),
        ("abc", "b", "b", "NO_CHANGE", "the new text is the same as the old one, so nothing would change"),
        (
            "a\nb\n",
            "a\n",
            "a\r\n",
            "NO_CHANGE",
            "the new text differs from the old one in line ends only, so nothing would change",
        ),
    ],
)
def test_refusals(text: str, old: str, new: str, code: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        replace_text(text, old, new)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_a_lone_carriage_return_does_not_match_half_of_a_line_end() -> None:
    with pytest.raises(ToolError) as caught:
        replace_text("a\r\nb\r\n", "a\r", "x")
    assert caught.value.code == "NO_MATCH"


def test_many_matches_are_counted_up_to_a_limit() -> None:
    with pytest.raises(ToolError) as caught:
        replace_text("a\r\n" * 20_000, "a", "b")
    assert "there 10000 or more times" in caught.value.message
