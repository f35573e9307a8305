"""How text becomes a title, and which title counts."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.session.projections import ProjectionSet
from acp_server.session.title import (
    TITLE_BYTES,
    TitleProjection,
    fallback_for,
    fallback_title,
    from_first_words,
    normalize_title,
)
from tests.support.story import Story, user

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"

CLEAN = {
    "plain": ("Fix the bug", "Fix the bug"),
    "white space": ("  a\r\n\t b\u2028c\u3000d ", "a b c d"),
    "controls": ("a\x00b\x7fc\x9fd\x1be", "abcd"),
    "colours": ("\x1b[1;31mred\x1b[0m \x9b4mline", "red 4mline"),
    "a window title": ("\x1b]0;evil\x07good", "good"),
    "a link": ("\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
    "a string that does not end": ("good \x1bPdevice", "good"),
    "other escapes": ("\x1b(Ba\x1b=b\x1b", "ab"),
    "directions and zero widths": ("a\u202eb\u2066c\u200bd\ufeffe\u061cf", "abcdef"),
    "half a surrogate": ("a\ud800b", "ab"),
    "a joiner alone": ("\u200d \u200c", ""),
    "joined emoji stay whole": (FAMILY, FAMILY),
    "nothing": (" \n ", ""),
}


@pytest.mark.parametrize(("text", "title"), CLEAN.values(), ids=CLEAN.keys())
def test_a_title_is_one_clean_line(text: str, title: str) -> None:
    assert normalize_title(text) == title


CUT = {
    "letters": ("x" * 100, 80),
    "accents": ("é" * 60, 80),
    "marks stay with their letter": ("e\u0301" * 60, 78),
    "chinese": ("修" * 60, 78),
    "emoji": (FAMILY * 10, 72),
    "flags": (FLAG * 20, 80),
    "skin": ("\U0001f44d\U0001f3fd" * 20, 80),
}


@pytest.mark.parametrize(("text", "size"), CUT.values(), ids=CUT.keys())
def test_a_title_is_cut_between_characters(text: str, size: int) -> None:
    title = normalize_title(text)
    assert (len(title.encode()), text.startswith(title)) == (size, True)


def test_a_cut_leaves_no_space_at_the_end() -> None:
    assert normalize_title("ab cd", 3) == "ab"
    assert normalize_title("e\u0301x", 2) == ""


FALLBACK = {
    "five words": ("Fix the login bug in the parser", "Fix the login bug in"),
    "a word that does not fit is left out": ("Rename configuration-loader-of-the-application now", "Rename"),
    "the first word is cut": ("x" * 60, "x" * 40),
    "forty columns": ("a" * 19 + " " + "b" * 20 + " c", "a" * 19 + " " + "b" * 20),
    "chinese takes twenty": ("请" * 30, "请" * 20),
    "mixed": ("修复 login 页面", "修复 login 页面"),
    "two bytes a letter": ("я" * 60, "я" * 40),
    "lines are words": ("one\ntwo", "one two"),
    "bytes bound marks": ("e\u0301" * 60, "e\u0301" * 26),
    "nothing": ("\x1b[0m", ""),
}


@pytest.mark.parametrize(("text", "title"), FALLBACK.values(), ids=FALLBACK.keys())
def test_a_fallback_is_the_first_words(text: str, title: str) -> None:
    assert fallback_title(text) == title
    assert len(title.encode()) <= TITLE_BYTES


def test_a_pasted_file_is_read_at_its_beginning_only() -> None:
    assert fallback_title(" " * 9000 + "late") == ""


def test_a_message_of_the_person_gives_a_title() -> None:
    story = Story()
    event = story.say(user("m1", "Fix it\nplease"))
    assert fallback_for(event) == {"title": "Fix it please", "messageSeqs": [0], "source": {"kind": "fallback"}}


@pytest.mark.parametrize(
    "message",
    [
        user("m1", " \n"),
        {**user("m1"), "content": []},
        {**user("m1"), "source": {"kind": "plugin", "plugin": "compact"}},
        {**user("m1"), "source": {"kind": "goal"}},
    ],
)
def test_nothing_else_gives_a_title(message: dict[str, Any]) -> None:
    story = Story()
    assert fallback_for(story.say(message)) is None
    assert fallback_for(story.open_turn()) is None


def test_the_latest_title_counts() -> None:
    story = Story()
    projections = ProjectionSet(story.session.events)
    projections.register(TitleProjection())
    assert projections.view("title") is None
    story.session.observe(projections.notify)
    by_person: dict[str, Any] = {"title": "mine", "messageSeqs": [], "source": {"kind": "user"}}
    story.session.append("session/title", {"title": "first", "messageSeqs": [0], "source": {"kind": "fallback"}})
    story.session.append("session/title", by_person)
    story.session.append("plan/mode", {"active": True})
    assert projections.view("title") == "mine"
    assert [from_first_words(data) for data in (by_person, {"source": {"kind": "fallback"}}, {})] == [
        False,
        True,
        False,
    ]
