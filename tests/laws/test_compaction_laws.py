"""Laws of compaction's pure parts: cuts, prunes, the meter's fold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_server.compaction.estimate import message_tokens
from acp_server.compaction.meter import Meter
from acp_server.compaction.pieces import pieces
from acp_server.compaction.policy import PruneLimits
from acp_server.compaction.prune import CUT, plan_cuts, with_content
from acp_server.compaction.selection import cuts, head_length, pairs, tail_start
from acp_server.compaction.trim import newest_request, shorten
from acp_server.messages.blocks import Message, TextBlock, ToolResultBlock
from acp_server.session.history import derive_message
from tests.support.story import Story, events_of, session, user
from tests.support.talks import answered, call, result, said, talks

LIMITS = PruneLimits(1000, 300, 100)


@given(talks(), st.integers(0, 60), st.data())
def test_no_cut_parts_a_call_from_its_result(messages: list[Message | None], retain: int, data: st.DataObject) -> None:
    prices = [data.draw(st.integers(0, 30)) for _ in messages]
    for length in (head_length(messages, prices, retain), tail_start(messages, prices, retain)):
        assert all(first >= length or last < length for first, last in pairs(messages))
    length = head_length(messages, prices, retain)
    assert length == 0 or sum(prices[length:]) >= retain
    assert length < max(1, len(messages))


@given(talks())
def test_pairs_are_found_once_and_both_ends_of_a_conversation_are_cuts(messages: list[Message | None]) -> None:
    found = pairs(messages)
    ends = [place for pair in found for place in pair]
    results = [place for place in ends if isinstance(_first(messages[place]), ToolResultBlock)]
    assert len(set(results)) == len(found)
    allowed = cuts(messages)
    assert len(allowed) == len(messages) + 1
    assert allowed[0]
    assert allowed[-1]


@given(talks(), st.integers(0, 60))
def test_what_fits_is_left_as_it_is(messages: list[Message | None], spare: int) -> None:
    prices = [message_tokens(message) for message in messages]
    assert tail_start(messages, prices, sum(prices) + spare) == 0 or not messages
    assert shorten(messages, sum(prices) + spare) == []


@st.composite
def readings(draw: st.DrawFn) -> list[Message | None]:
    messages: list[Message | None] = [said("go")]
    for number in range(draw(st.integers(0, 8))):
        path = draw(st.sampled_from(["a", "b"]))
        name = draw(st.sampled_from(["read_file", "grep"]))
        messages.append(answered(call(f"c{number}", name, f'{{"path":"{path}"}}')))
        size = draw(st.sampled_from([0, 500, 900, 1001, 5000]))
        messages.append(result(f"c{number}", "é" * size, is_error=draw(st.booleans())))
    if draw(st.booleans()):
        messages.append(answered(TextBlock("done")))
    return messages


@given(readings(), st.integers(0, 3))
def test_cutting_spares_the_newest_shrinks_and_is_done_once(messages: list[Message | None], spare: int) -> None:
    planned = plan_cuts(messages, LIMITS, spare=spare)
    after = list(messages)
    for cut in planned:
        message = messages[cut.place]
        assert message is not None
        after[cut.place] = with_content(message, cut.content)
        assert message_tokens(after[cut.place]) < message_tokens(message)
        assert len(_text(after[cut.place])) <= LIMITS.threshold_chars
        assert CUT in _text(after[cut.place])
    assert plan_cuts(after, LIMITS, spare=spare) == []
    places = [n for n, message in enumerate(messages) if isinstance(_first(message), ToolResultBlock)]
    answers = [n for n, message in enumerate(messages) if message is not None and message.role == "assistant"]
    seen = [n for n in places if answers and n < answers[-1]]
    kept = set(places) - set(seen[: len(seen) - spare] if spare else seen)
    assert kept.isdisjoint(cut.place for cut in planned)
    assert pairs(after) == pairs(messages)


@given(readings(), st.integers(50, 3000))
def test_shortening_never_touches_the_persons_request(messages: list[Message | None], target: int) -> None:
    shorter = shorten(messages, target)
    assert newest_request(messages) not in [one.place for one in shorter]
    for one in shorter:
        assert message_tokens(one.message) < message_tokens(messages[one.place])


@given(readings(), st.integers(300, 5000))
def test_pieces_are_bounded_and_in_order(messages: list[Message | None], room: int) -> None:
    made = pieces(messages, room)
    assert len(made) <= 16
    assert "go" in made[0] or len(made) == 16


@given(st.lists(st.sampled_from(["say", "answer", "count", "replace", "ask", "look"]), max_size=30), st.data())
def test_the_meter_is_a_fold_whenever_it_is_asked(moves: list[str], data: st.DataObject) -> None:
    story = Story(session(strict=False))
    story.turn = story.step = 1
    meter = Meter(story.session.events)
    for move in moves:
        match move:
            case "say":
                story.say(user(f"m{story.session.seq}", "some words " * data.draw(st.integers(1, 20))))
            case "answer":
                story.answer(TextBlock("an answer"))
            case "count":
                read = data.draw(st.integers(0, 400))
                story.answer(TextBlock("counted"), usage={"inputTokens": read, "outputTokens": 3})
            case "replace" if story.session.surface.nodes:
                nodes = story.session.surface.nodes
                first = data.draw(st.integers(0, len(nodes) - 1))
                last = data.draw(st.integers(first, len(nodes) - 1))
                story.replace(nodes[first], nodes[last], user(f"c{story.session.seq}", "short"))
            case "ask":
                story.ask(data.draw(st.sampled_from(["brief", "long " * 30])), "change")
            case _:
                meter.total()
    fresh = Meter(story.session.events)
    assert (meter.total(), meter.surface, meter.header) == (fresh.total(), fresh.surface, fresh.header)
    events = events_of(story)
    assert meter.surface == sum(message_tokens(derive_message(events[seq])) for seq in story.session.surface.nodes)


def _first(message: Message | None) -> object:
    return message.content[0] if message is not None and message.content else None


def _text(message: Message | None) -> str:
    block = _first(message)
    assert isinstance(block, ToolResultBlock)
    return "".join(inner.text for inner in block.content if isinstance(inner, TextBlock))
