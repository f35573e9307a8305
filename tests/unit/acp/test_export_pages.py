"""Pages of an export (docs/extensions.md, clauses EX-20 to EX-25)."""

from __future__ import annotations

import json

import pytest

from acp_server.acp import export_pages
from acp_server.acp.export_pages import Place, document, page_of_lines, page_of_text, place_of
from tests.support.story import Story, user


@pytest.mark.parametrize("page", [1, 7, 100, 10_000])
def test_pages_joined_are_the_whole(monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    session = Story().whole().whole("m2", "more", "of that").session
    whole, _ = page_of_lines(session.header, session.events, Place(len(session.events)))
    monkeypatch.setattr(export_pages, "PAGE", page)
    text, place = "", Place(len(session.events))
    while True:
        part, following = page_of_lines(session.header, session.events, place)
        assert len(part) <= page
        text += part
        if following is None:
            break
        assert place_of(following.cursor(), session.events) == following
        place = following
    assert text == whole
    assert [json.loads(line)["seq"] for line in text.splitlines()[1:]] == list(range(len(session.events)))


def test_events_that_come_later_are_not_part_of_it() -> None:
    story = Story().whole()
    place = Place(len(story.session.events))
    before = page_of_lines(story.session.header, story.session.events, place)
    shown = document(story.session.header, story.session.events, place.length)
    story.whole("m2", "more", "of that")
    assert page_of_lines(story.session.header, story.session.events, place) == before
    assert document(story.session.header, story.session.events, place.length) == shown


def test_a_document_is_cut_where_a_page_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_pages, "PAGE", 4)
    assert page_of_text("abcdef", Place(3)) == ("abcd", Place(3, 0, 4))
    assert page_of_text("abcdef", Place(3, 0, 4)) == ("ef", None)


@pytest.mark.parametrize("cursor", ["", "1", "1-2", "a-b-c", "9-0-0", "2-9-0", "-1-0-0", "1-0-0 ", "1" * 20 + "-0-0"])
def test_a_cursor_that_is_none_of_the_log_is_refused(cursor: str) -> None:
    story = Story()
    story.queue(user("m"))
    assert place_of(cursor, story.session.events) is None
