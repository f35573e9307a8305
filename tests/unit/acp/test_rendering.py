"""What a person is shown who has to decide: nothing hides, and two different texts never look alike."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.acp.rendering import fenced, meant, shown, shown_line

TRICKS = [
    "\u200b", "\u200d", "\u202e", "\u2066", "\u00a0", "\u3000", "\u2028", "\u2029", "\u00ad", "\ufeff", "\u034f",
    "\u3164", "\u2800", "\ufe0f", "\U000e0041", "\x1b[2K", "\r", "\t", "\x00", "\x7f", "\x85", "\u115f", "\ue000",
]  # fmt: skip
SHAPES = ["{}", "rm {}-rf", "a{}\nb", "{0}{0}", "\\u{{200B}}{}", "\\{}", "ls {} # safe", "`{}`", "é{}", "ls;{}", "{}x",
          " {} ", "'{}'"]  # fmt: skip
HOSTILE = [shape.format(trick) for shape in SHAPES for trick in TRICKS]


def plain(text: str) -> bool:
    """Whether all of a text is seen: its blanks are blanks, and every other character draws something."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    return all(character == " " or unicodedata.category(character) not in hidden for character in text)


def test_three_hundred_hostile_texts_are_shown_plainly_and_one_to_one() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 299
    for render in (shown, shown_line):
        drawn = [render(text) for text in HOSTILE]
        assert [meant(text) for text in drawn] == HOSTILE
        assert len(set(drawn)) == len(drawn)
        assert all(plain(text.replace("\n", "")) for text in drawn)
        assert not any(trick in text for text in drawn for trick in TRICKS)
    assert not any("\n" in shown_line(text) for text in HOSTILE)


@given(st.text())
def test_what_is_shown_says_exactly_what_is_meant(text: str) -> None:
    assert (meant(shown(text)), meant(shown_line(text))) == (text, text)
    assert plain(shown_line(text))


@pytest.mark.parametrize("text", ["", "npm test", "a\nb", "straße 'ü' 日本", "C:\\users\\u", "\\x"])
def test_what_hides_nothing_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_a_text_does_not_end_its_block() -> None:
    assert fenced("a") == "```\na\n```"
    assert fenced("```` b ```") == "`````\n```` b ```\n`````"
