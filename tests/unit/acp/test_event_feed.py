"""How many events go into one notification (docs/extensions.md, clauses EX-11 and EX-12)."""

from __future__ import annotations

from acp_server.acp.event_feed import MOST_CHARACTERS, batch
from tests.support.story import Story, user


def told(*texts: str) -> Story:
    story = Story()
    for number, text in enumerate(texts):
        story.queue(user(f"m{number}", text))
    return story


def test_all_that_fits_goes_together() -> None:
    events = list(told("a", "b", "c").session.events.since(0))
    entries, following = batch(events)
    assert ([entry["seq"] for entry in entries], following) == ([0, 1, 2], 3)


def test_what_does_not_fit_waits_for_the_next_one() -> None:
    half = "x" * (MOST_CHARACTERS // 2)
    events = list(told(half, half, "c").session.events.since(0))
    entries, following = batch(events)
    assert ([entry["seq"] for entry in entries], following) == ([0], 1)


def test_an_event_that_never_fits_comes_without_its_data() -> None:
    events = list(told("x" * (MOST_CHARACTERS + 1), "b").session.events.since(0))
    entries, following = batch(events)
    assert following == 2
    assert "data" not in entries[0]
    assert entries[0]["leftOut"] > MOST_CHARACTERS
    assert entries[1]["data"]["target"] == "next-turn"
