from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.base.printable import visible
from acp_server.cli.terminal import columns, counted, iso_time, json_text, size_text, table, title_text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/home/me/プロジェクト", "/home/me/プロジェクト"),
        ("a\x1b[31mred\x1b[0m", "a\\x1b[31mred\\x1b[0m"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("c1 \x9b2J del \x7f", "c1 \\x9b2J del \\x7f"),
        ("right \u202eto left", "right \\u202eto left"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_acts_on_a_terminal_becomes_an_escape(text: str, line: str) -> None:
    assert visible(text) == line


@given(st.text())
def test_nothing_but_printable_characters_gets_out(text: str) -> None:
    assert visible(text).isprintable()
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in title_text(text))


@given(st.text())
def test_json_is_ascii_without_controls_and_says_the_same(text: str) -> None:
    written = json_text([text])
    assert json.loads(written) == [text]
    assert written.isascii()
    assert written.replace("\n", "").isprintable()


def test_titles_are_cleaned() -> None:
    assert [title_text(title) for title in ("\x1b]0;owned\x07 Fix\x1b[2J it", None, "", "\x1b[0m")] == [
        "Fix it",
        "-",
        "-",
        "-",
    ]


def test_columns_stand_below_each_other() -> None:
    rows = [("a", "日本", "x"), ("bcd", "e", "longer"), ("", "", "")]
    assert table(rows) == "a    日本  x\nbcd  e     longer\n\n"
    assert columns("e\u0301👍") == 3


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 30, "3.0 GiB"),
        (5 << 40, "5120.0 GiB"),
    ],
)
def test_sizes_have_units(size: int, text: str) -> None:
    assert size_text(size) == text


def test_moments_and_counts() -> None:
    assert iso_time(1_750_000_000_123) == "2025-06-15T15:06:40.123Z"
    assert iso_time(2**53) is None
    assert [counted(number, "event") for number in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
