"""What can be gone back to, and what was taken back (docs/sessions.md, clauses U-1 to U-8)."""

from __future__ import annotations

from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import Message, PluginSource, TextBlock
from acp_server.messages.codec import message_to_json
from acp_server.session.events import Replace
from acp_server.session.log import MemoryLog
from acp_server.session.undo import Past, hidden_ranges
from tests.support.story import Story, user


def told(*words: str) -> Story:
    """Tell one turn a word: a prompt, an answer."""
    story = Story()
    for word in words:
        story.open_turn()
        story.open_step()
        story.say(user(word, word))
        story.answer(TextBlock(word))
        end(story)
    return story


def end(story: Story) -> None:
    story.session.append("step/end", story.place)
    story.session.append("turn/end", {"turn": story.turn, "reason": {"kind": "completed"}})


def plugin(ident: str) -> dict[str, JsonValue]:
    return message_to_json(Message(ident, "user", (TextBlock("told"),), PluginSource("x", {})))


def targets(story: Story) -> list[tuple[str, int]]:
    """Return each message that can be gone back to, with how many nodes that takes off."""
    past = Past(story.session.events)
    return [(one.message_id, len(one.nodes)) for one in past.targets(story.session.surface.nodes)]


def bracket(story: Story, ident: str, first: int, *, kind: str = "undo", done: bool | None = True, **of: str) -> None:
    data: dict[str, JsonValue] = {"undoId": ident, "kind": kind, "first": first, "until": story.session.seq, **of}
    story.session.append("undo/start", data, ignorable=True)
    if done is not None:
        story.session.append("undo/end", {"undoId": ident, "done": done}, ignorable=True)


def test_each_turn_can_be_gone_back_to_the_newest_first() -> None:
    assert targets(told("one", "two")) == [("two", 2), ("one", 4)]


def test_steering_is_no_place_to_go_back_to_and_notices_go_with_their_turn() -> None:
    story = told("one")
    story.open_turn()
    story.open_step()
    story.say(plugin("notice"))
    story.say(user("two"))
    story.answer(TextBlock("a"))
    story.session.append("step/end", story.place)
    story.open_step()
    story.say(user("steered"))
    story.answer(TextBlock("b"))
    end(story)
    assert targets(story) == [("two", 5), ("one", 7)]


def test_what_a_summary_took_in_cannot_be_gone_back_to() -> None:
    story = told("one", "two", "three")
    nodes = story.session.surface.nodes
    story.replace(nodes[0], nodes[2], plugin("summary"))
    assert targets(story) == [("three", 2)]


def test_a_message_that_was_shortened_can_be_gone_back_to() -> None:
    story = told("one", "two")
    node = story.session.surface.nodes[2]
    shorter = user("two", "t…")
    story.session.append("user/message", shorter, surface_op=Replace(node, node), sources=(node,))
    assert targets(story) == [("two", 2), ("one", 4)]


def test_an_undo_hides_its_range_until_it_is_undone() -> None:
    story = told("one", "two")
    first = next(e.seq for e in story.session.events.since(0) if e.type == "turn/start" and e.data["turn"] == 2)
    assert hidden_ranges(story.session.events) == ()
    bracket(story, "u", first)
    until = story.session.seq - 2
    assert hidden_ranges(story.session.events) == ((first, until),)
    latest = Past(story.session.events).latest
    assert latest is not None
    assert latest.id == "u"
    bracket(story, "r", story.session.seq, kind="redo", of="u")
    past = Past(story.session.events)
    assert (past.hidden, past.latest) == ((), None)


def test_a_turn_ends_the_chance_of_an_undo_to_be_undone() -> None:
    story = told("one")
    bracket(story, "u", 0)
    story.open_turn()
    assert Past(story.session.events).latest is None
    story = told("one")
    bracket(story, "u", 0, done=False)
    latest = Past(story.session.events).latest
    assert latest is not None
    assert (latest.id, latest.done) == ("u", False)
    story.open_turn()
    assert Past(story.session.events).latest is None


def test_an_open_bracket_and_an_end_of_another_are_told() -> None:
    story = told("one")
    bracket(story, "u", 0, done=None)
    story.session.append("undo/end", {"undoId": "other", "done": True}, ignorable=True)
    past = Past(MemoryLog(list(story.session.events.since(0))))
    assert past.open is not None
    assert (past.open.id, past.undone, past.failed) == ("u", (), None)
