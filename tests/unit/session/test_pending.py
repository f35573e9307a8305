"""Prompts that wait, and prompts that a crash caught between list and conversation."""

from __future__ import annotations

from typing import Any

from acp_server.messages.chunks import TextDelta
from acp_server.session.log import MemoryLog
from acp_server.session.pending import unentered_prompts, waiting_prompts
from acp_server.session.repair import closing_events
from tests.support.story import SPLICED, Story, events_of, session, user


def lost(story: Story) -> list[tuple[str, Any]]:
    return [(one.target, one.data["id"]) for one in unentered_prompts(story.session.events)]


def claimed() -> Story:
    story = Story()
    story.queue(user("m1"))
    story.open_turn()
    story.claim()
    return story


def test_nothing_is_lost_of_a_whole_turn() -> None:
    assert lost(Story()) == []
    assert lost(Story().whole()) == []
    assert lost(Story().begin()) == []


def test_a_claimed_prompt_is_found_until_it_has_entered() -> None:
    story = claimed()
    assert lost(story) == [("next-turn", "m1")]
    assert unentered_prompts(story.session.events)[0].data == {
        **user("m1"),
        "content": ({"type": "text", "text": "hello"},),
    }
    story.open_step()
    assert lost(story) == [("next-turn", "m1")]
    story.say(user("m1"))
    assert lost(story) == []


def test_a_prompt_that_still_waits_is_not_lost() -> None:
    story = Story()
    story.queue(user("m1"))
    assert lost(story) == []
    story.open_turn()
    assert lost(story) == []


def test_repair_changes_nothing_and_a_new_insertion_ends_it() -> None:
    story = claimed()
    told = session(MemoryLog([*events_of(story), *closing_events(story.session.events)]), seeded=True)
    again = Story(told)
    assert lost(again) == [("next-turn", "m1")]
    again.queue(user("m1"))
    assert lost(again) == []


def test_steering_that_was_taken_is_found_in_order() -> None:
    story = Story().with_calls("c")
    story.call("c")
    story.queue(user("s1"), user("s2"), target="next-step")
    story.result("c")
    story.close_step()
    story.claim(2, target="next-step")
    assert lost(story) == [("next-step", "s1"), ("next-step", "s2")]
    story.open_step()
    story.say(user("s1"))
    assert lost(story) == [("next-step", "s2")]


def test_what_was_dropped_before_a_request_does_not_come_back() -> None:
    story = claimed()
    story.open_step()
    story.ask()
    assert lost(story) == []


def test_chunks_tell_that_a_request_was_made() -> None:
    story = claimed()
    story.open_step()
    story.stream(TextDelta(0, "x"))
    assert lost(story) == []
    story.session.append("plan/mode", {"active": True})
    assert lost(story) == []


def test_a_turn_that_ended_by_itself_has_lost_nothing() -> None:
    for kind in ("blocked", "aborted", "error", "completed"):
        story = claimed()
        story.close_turn(kind)
        assert lost(story) == []


def test_what_was_canceled_is_not_lost() -> None:
    story = Story()
    story.queue(user("m1"), user("m2"))
    story.open_turn()
    story.claim()
    story.claim(outcome="canceled")
    assert lost(story) == [("next-turn", "m1")]


def test_what_is_removed_outside_of_a_turn_is_not_lost() -> None:
    story = Story()
    story.queue(user("m1"))
    story.claim()
    assert lost(story) == []


def test_a_fork_inherits_nothing_that_waits() -> None:
    story = Story()
    story.queue(user("m1"))
    length = story.session.seq
    story.queue(user("m2"))
    assert {key: [one["id"] for one in value] for key, value in waiting_prompts(story.session.events).items()} == {
        "next-turn": ["m2", "m1"],
        "next-step": [],
    }
    assert waiting_prompts(story.session.events, length)["next-turn"] == (story.session.events[length].data["inserted"])


def test_a_splice_is_clamped_to_its_list() -> None:
    story = Story()
    story.session.append(SPLICED, {"target": "next-turn", "start": 7, "inserted": [user("m1")]})
    story.session.append(SPLICED, {"target": "next-turn", "start": 9, "removedCount": 3, "inserted": [user("m2")]})
    story.session.append(SPLICED, {"target": "next-turn", "start": 0, "removedCount": 9, "inserted": []})
    assert waiting_prompts(story.session.events) == {"next-turn": (), "next-step": ()}


def test_a_step_that_repair_closed_before_its_request_lost_its_prompt() -> None:
    story = claimed()
    story.open_step()
    log = MemoryLog([*events_of(story), *closing_events(story.session.events)])
    assert [event.type for event in log.since(story.session.seq)] == ["step/end", "turn/end"]
    assert [one.data["id"] for one in unentered_prompts(log)] == ["m1"]
