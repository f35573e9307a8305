"""What each event shows (docs/protocol.md, clauses P-14 to P-17, U-08 to U-10, TC-01 to TC-03)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from acp_server.acp.picture_updates import filled, named_in
from acp_server.acp.updates import Presenter, TextUpdate, Update
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    ModelSource,
    OpaqueBlock,
    PluginSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    UserSource,
)
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.chunks import TokenUsage as Usage
from acp_server.messages.codec import message_to_json
from acp_server.session.events import Replace, SessionEvent
from tests.support.story import Story, events_of, session, text, user

MODEL = ModelSource("scripted", "demo")
STOP = FinishChunk("stop")
FAILED = FinishChunk("error", LlmFailure("SERVER", "It stumbled."))


def short(update: Update) -> tuple[object, ...]:
    """Return an update as (kind, id, text) or (kind, id, status)."""
    if isinstance(update, TextUpdate):
        return update.kind, update.message_id, update.text
    if "toolCallId" in update:
        return update["sessionUpdate"], update["toolCallId"], update["status"]
    return (update["sessionUpdate"], {key: item for key, item in update.items() if key != "sessionUpdate"})


def present(events: Iterable[SessionEvent], *, live: bool = False) -> list[Update]:
    presenter = Presenter()
    if live:
        presenter.go_live()
    return [update for event in events for update in presenter.present(event)]


def shown(story: Story, *, live: bool = True) -> list[tuple[object, ...]]:
    return [short(update) for update in present(events_of(story), live=live)]


def retry(story: Story, number: int = 1, delay: int = 500) -> None:
    facts: dict[str, JsonValue] = {
        **story.place,
        "retryId": "r",
        "provider": "scripted",
        "mode": "normal",
        "policyKey": "k",
        "retry": number,
        "maxRetries": 5,
        "delayMs": delay,
        "failure": {"code": "SERVER", "message": "It stumbled."},
    }
    story.session.append("llm/retry", facts)
    started: dict[str, JsonValue] = {"retryId": "r", **story.place, "retry": number}
    story.session.append("llm/retry-started", started)
    story.heard = []


# -- text


def test_deltas_are_shown_as_they_come_and_their_message_adds_nothing() -> None:
    story = Story().begin()
    story.stream(ReasoningDelta(0, "Hm."), TextDelta(1, "Hel"), TextDelta(1, ""), TextDelta(1, "lo"), STOP)
    story.answer(ReasoningBlock("Hm."), TextBlock("Hello"))
    assert shown(story) == [
        ("agent_thought_chunk", "m1-1-0", "Hm."),
        ("agent_message_chunk", "m1-1-1", "Hel"),
        ("agent_message_chunk", "m1-1-1", "lo"),
    ]


def test_a_message_that_names_no_deltas_adds_only_what_none_has_shown() -> None:
    story = Story().begin()
    story.stream(TextDelta(0, "Hello"), STOP)
    message = Message("a", "assistant", (TextBlock("Hello"), TextBlock("there")), MODEL)
    story.session.append("assistant/message", {**story.place, "message": message_to_json(message)}, surface_op="append")
    assert shown(story) == [("agent_message_chunk", "m1-1-0", "Hello"), ("agent_message_chunk", "m1-1-1", "there")]


def test_blocks_without_deltas_are_shown_at_their_end() -> None:
    story = Story().begin()
    story.stream(BlockStart(0, "text"), BlockEnd(0, TextBlock("Whole.")), BlockEnd(1, ReasoningBlock("Why.")), STOP)
    story.answer(TextBlock("Whole."), ReasoningBlock("Why."))
    assert shown(story) == [
        ("agent_message_chunk", "m1-1-0", "Whole."),
        ("agent_thought_chunk", "m1-1-1", "Why."),
    ]


def test_a_message_whose_stream_was_not_recorded_is_shown_whole() -> None:
    story = Story().begin()
    message = Message("a", "assistant", (TextBlock("From elsewhere."), ReasoningBlock("Quietly.")), MODEL)
    story.session.append("assistant/message", {**story.place, "message": message_to_json(message)}, surface_op="append")
    assert shown(story) == [
        ("agent_message_chunk", "m1-1-0", "From elsewhere."),
        ("agent_thought_chunk", "m1-1-1", "Quietly."),
    ]


def test_images_of_prompts_are_named_when_they_are_replayed() -> None:
    story = Story().begin()
    picture = ImageBlock("a", "image/png", 4, 3, 2, "p.png")
    attachment = {"attachmentId": "a", "mediaType": "image/png", "bytes": 4, "width": 3, "height": 2, "name": "p.png"}
    story.close_step()
    story.close_turn()
    story.queue(user("m2"))
    story.open_turn()
    story.claim()
    story.open_step()
    story.say(message_to_json(Message("m2", "user", (TextBlock("See"), picture, TextBlock("it.")), UserSource())))
    update = {
        "sessionUpdate": "user_message_chunk",
        "content": {"type": "image", "attachment": attachment},
        "messageId": "m2",
    }
    replayed = [item for item in present(events_of(story)) if "m2" in str(item)]
    assert replayed == [
        TextUpdate("user_message_chunk", "m2", "See"),
        update,
        TextUpdate("user_message_chunk", "m2", "it."),
    ]
    assert not [item for item in present(events_of(story), live=True) if "m2" in str(item)]
    assert list(named_in(update)) == ["a"]
    assert filled(update, {"a": "QUJD"}.get)["content"] == {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    gone = "[The image p.png (image/png, 3 x 2) is not available.]"
    assert filled(update, lambda _ident: None)["content"] == {"type": "text", "text": gone}


def test_blocks_that_are_not_known_are_passed_over() -> None:
    story = Story().begin()
    opaque = OpaqueBlock("hologram", {"type": "hologram", "depth": 3})
    picture = ImageBlock("a", "image/png", 1, 1, 1)
    story.stream(BlockEnd(0, opaque), BlockEnd(1, TextBlock("Seen.")), STOP)
    story.answer(opaque, TextBlock("Seen."))
    story.close_step()
    story.close_turn()
    story.queue(user("m2"))
    story.open_turn()
    story.claim()
    story.open_step()
    story.say(message_to_json(Message("m2", "user", (picture, opaque), PluginSource("p", {}))))
    assert shown(story) == [("agent_message_chunk", "m1-1-1", "Seen.")]


def test_each_step_and_turn_has_messages_of_its_own() -> None:
    story = Story().whole("m1", reply="One").whole("m2", reply="Two")
    assert [item[:2] for item in shown(story)] == [
        ("agent_message_chunk", "m1-1-0"),
        ("agent_message_chunk", "m2-1-0"),
    ]


# -- prompts, titles, commands


def test_prompts_are_shown_in_a_replay_only() -> None:
    story = Story().whole("m1", "hello", "One")
    assert shown(story, live=False) == [
        ("user_message_chunk", "m1", "hello"),
        ("agent_message_chunk", "m1-1-0", "One"),
    ]
    assert shown(story) == [("agent_message_chunk", "m1-1-0", "One")]


def test_what_a_part_of_the_server_said_to_the_model_is_not_shown_as_the_persons() -> None:
    story = Story().begin()
    story.say(message_to_json(Message("p", "user", (TextBlock("Reminder."),), PluginSource("reminder", {}))))
    assert [item[2] for item in shown(story, live=False)] == ["hello"]


def test_a_title_comes_with_the_events_time() -> None:
    told = session()
    told.append("session/title", {"title": "A title", "messageSeqs": [], "source": {"kind": "user"}})
    info = {"title": "A title", "updatedAt": "1970-01-01T00:00:01.000Z"}
    assert shown(Story(told)) == [("session_info_update", info)]


def test_a_command_shows_its_outcome_and_in_a_replay_its_words() -> None:
    told = session()
    told.append("command/run", {"commandId": "c", "name": "rename", "source": {"kind": "user"}, "args": "It all"})
    told.append("command/done", {"commandId": "c", "kind": "success", "text": "Renamed."})
    told.append("command/run", {"commandId": "d", "name": "help", "source": {"kind": "user"}})
    told.append("command/done", {"commandId": "d", "kind": "success"})
    assert shown(Story(told)) == [("agent_message_chunk", "c1", "Renamed.")]
    assert shown(Story(told), live=False) == [
        ("user_message_chunk", "c0", "/rename It all"),
        ("agent_message_chunk", "c1", "Renamed."),
        ("user_message_chunk", "c2", "/help"),
    ]


# -- usage


@pytest.mark.parametrize(("window", "told"), [(1000, True), (None, False)])
def test_usage_is_told_once_a_step_when_the_window_is_known(window: int | None, told: bool) -> None:
    story = Story().begin()
    context: dict[str, JsonValue] = {"provider": "p", "model": "m"}
    story.session.append("request/context", context | ({} if window is None else {"contextWindow": window}))
    story.stream(*text("ok"), UsageChunk(Usage(7, 2, 90)), STOP)
    story.answer(TextBlock("ok"), usage={"inputTokens": 7, "outputTokens": 2, "cacheReadTokens": 90})
    usage = [update for update in present(events_of(story)) if not isinstance(update, TextUpdate)]
    expected = [{"sessionUpdate": "usage_update", "used": 99, "size": 1000}]
    assert [{key: item for key, item in one.items() if key != "cost"} for one in usage] == (expected if told else [])


# -- calls


def test_a_call_is_announced_started_and_ended() -> None:
    story = Story().begin()
    story.stream(ToolCallDelta(0, "c1", "{", "read"), ToolCallDelta(0, "c1", "}"), FinishChunk("tool-calls"))
    story.answer(ToolCallBlock("c1", "read", "{}"))
    story.call("c1")
    story.result("c1", content="done")
    assert shown(story) == [
        ("tool_call", "c1", "pending"),
        ("tool_call_update", "c1", "in_progress"),
        ("tool_call_update", "c1", "completed"),
    ]
    first, started, last = present(events_of(story), live=True)
    assert isinstance(first, dict)
    assert isinstance(started, dict)
    assert isinstance(last, dict)
    assert (first["name"], started["rawInput"]) == ("read", {})
    assert last["content"] == [{"type": "content", "content": {"type": "text", "text": "done"}}]


def test_a_call_waits_for_its_name() -> None:
    story = Story().begin()
    story.stream(ToolCallDelta(0, "c1", '{"a"'), ToolCallDelta(0, "c1", ":1}", "read"), FinishChunk("tool-calls"))
    assert shown(story) == [("tool_call", "c1", "pending")]


@pytest.mark.parametrize("announced", ["block-end", "message", "call"])
def test_a_call_is_announced_once_however_it_is_first_heard_of(announced: str) -> None:
    story = Story().begin()
    block = ToolCallBlock("c1", "read", "{}")
    if announced == "block-end":
        story.stream(BlockEnd(0, block))
    story.stream(FinishChunk("tool-calls"))
    if announced != "call":
        story.answer(block)
    story.call("c1")
    assert shown(story) == [("tool_call", "c1", "pending"), ("tool_call_update", "c1", "in_progress")]


def test_an_id_that_a_provider_uses_again_is_another_one_on_the_wire() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    story.result("c1")
    for _ in range(2):
        story.close_step()
        story.open_step()
        story.stream(FinishChunk("tool-calls"))
        story.answer(ToolCallBlock("c1", "read", "{}"))
        story.call("c1")
        story.result("c1")
    ids = [item[1] for item in shown(story) if item[0] == "tool_call"]
    assert len(ids) == len(set(ids)) == 3
    assert ids[0] == "c1"


def test_a_failed_result_is_failed_on_its_card() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    data: Any = story.result_data("c1", "Error: no", error={"name": "E", "code": "X"})
    data["message"]["content"][0]["isError"] = True
    story.session.append("tool/result", data, surface_op="append", sources=[story.calls["c1"]])
    assert shown(story)[-1] == ("tool_call_update", "c1", "failed")


def test_a_result_that_nobody_asked_for_shows_nothing() -> None:
    story = Story(session(strict=False)).begin()
    before = shown(story)
    story.result("stray")
    assert shown(story) == before


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    for arguments, expected in [("no JSON", {"arguments": "no JSON"}), ("[1]", {"arguments": "[1]"}), ("", {})]:
        story = Story().begin()
        story.stream(FinishChunk("tool-calls"))
        story.answer(ToolCallBlock("c1", "read", arguments))
        call: dict[str, JsonValue] = {**story.place, "callId": "c1", "name": "read", "arguments": arguments}
        story.session.append("tool/call", call)
        last = present(events_of(story))[-1]
        assert isinstance(last, dict)
        assert last["rawInput"] == expected


@pytest.mark.parametrize("kind", ["completed", "aborted", "interrupted", "error"])
def test_no_card_is_open_after_its_turn(kind: str) -> None:
    story = Story(session(strict=False)).with_calls("c1", "c2")
    story.call("c1")
    story.close_step()
    story.close_turn(kind)
    assert shown(story)[-2:] == [("tool_call_update", "c1", "failed"), ("tool_call_update", "c2", "failed")]


# -- tries, refusals, replacements


def test_a_try_that_broke_off_gives_its_calls_up_and_the_next_one_is_shown_whole() -> None:
    story = Story(session(strict=False)).begin()
    story.stream(ToolCallDelta(0, "c1", "{", "read"), FAILED)
    retry(story)
    story.stream(TextDelta(0, "There."), ToolCallDelta(1, "c1", "{}", "read"), FinishChunk("tool-calls"))
    assert shown(story) == [
        ("tool_call", "c1", "pending"),
        ("tool_call_update", "c1", "failed"),
        ("agent_message_chunk", "m1-1-0", "There."),
        ("tool_call", "c1#1.1", "pending"),
    ]


@pytest.mark.parametrize(("delay", "told"), [(1999, False), (2000, True), (60_000, True)])
def test_a_long_wait_is_told(delay: int, told: bool) -> None:
    story = Story(session(strict=False)).begin()
    story.stream(FAILED)
    retry(story, 2, delay)
    words = f"It stumbled. Trying again in {delay // 1000} s.\n"
    assert shown(story) == ([("agent_thought_chunk", "r1-1-2", words)] if told else [])


def test_a_refused_exchange_is_shown_and_its_removal_is_not() -> None:
    story = Story().begin()
    story.stream(*text("I will not."), FinishChunk("refusal"))
    answer = story.answer(TextBlock("I will not."))
    before = shown(story)
    nodes = story.session.surface.nodes
    empty = Message("e", "assistant", (), MODEL)
    data: dict[str, JsonValue] = {**story.place, "message": message_to_json(empty)}
    story.session.append("assistant/message", data, surface_op=Replace(nodes[0], answer.seq), sources=nodes)
    assert shown(story) == before
    assert "".join(str(item[2]) for item in before) == "I will not."


def test_checkpoints_and_rewritten_results_show_nothing_again() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    story.result("c1", content="a long one")
    before = shown(story, live=False)
    story.rewrite_last("c1")
    assert shown(story, live=False) == before
    nodes = story.session.surface.nodes
    story.replace(nodes[0], nodes[0], user("s", "the summary"))
    assert shown(story, live=False) == before


def test_an_interrupted_answer_is_shown_by_its_chunks_alone() -> None:
    story = Story().begin()
    story.stream(TextDelta(0, "Half"))
    story.answer(TextBlock("Half"), interrupted=True)
    assert shown(story) == [("agent_message_chunk", "m1-1-0", "Half")]


def test_events_of_other_parts_show_nothing() -> None:
    told = session(strict=False)
    told.append("plug/in", {"any": 1}, ignorable=True)
    told.append("future/thing", {"any": [1]}, ignorable=True)
    told.append("session/end-seed", {})
    assert shown(Story(told), live=False) == []


def test_the_reason_of_a_hook_that_refuses_a_prompt_is_a_message() -> None:
    story = Story().begin()
    story.session.append("step/end", story.place)
    story.heard = []
    story.session.append("turn/end", {"turn": 1, "reason": {"kind": "blocked", "message": "Not on a Sunday."}})
    assert shown(story) == [("agent_message_chunk", "m1-0-0", "Not on a Sunday.")]


def compaction_events(story: Story) -> None:
    story.begin("m1")
    story.session.append("request/context", {"provider": "p", "model": "m", "contextWindow": 1000})
    story.session.append("compaction/start", {"compactionId": "k", "turn": 1})
    blocks: list[JsonValue] = [{"type": "text", "text": "so far"}]
    story.session.append("compaction/summary", {"compactionId": "k", "summary": blocks})
    story.session.append("compaction/end", {"compactionId": "k", "turn": 1, "tokensBefore": 900, "tokensAfter": 100})


def test_a_compaction_in_a_turn_is_a_thought_and_a_smaller_size() -> None:
    story = Story()
    compaction_events(story)
    words = "The conversation was summarised to make room: about 900 tokens became 100.\n"
    seq = story.session.seq - 1
    assert shown(story) == [("agent_thought_chunk", f"k{seq}", words), ("usage_update", {"used": 100, "size": 1000})]


def test_a_client_that_shows_compactions_gets_no_thought() -> None:
    story = Story()
    compaction_events(story)
    presenter = Presenter(compactions=True)
    found = [short(update) for event in events_of(story) for update in presenter.present(event)]
    told = [update for update in found if update[0] == "compaction_update"]
    assert told == [
        ("compaction_update", {"compactionId": "k", "status": "in_progress"}),
        (
            "compaction_update",
            {"compactionId": "k", "status": "completed", "summary": [{"type": "text", "text": "so far"}]},
        ),
    ]
    assert [update for update in found if update[0] == "agent_thought_chunk"] == []


def test_results_that_were_cut_are_told_before_the_next_step() -> None:
    story = Story(session(strict=False))
    story.open_turn()
    story.session.append("request/context", {"provider": "p", "model": "m", "contextWindow": 1000})
    story.open_step()
    story.answer(TextBlock("so"), usage={"inputTokens": 800, "outputTokens": 10})
    for saved in (300, 100):
        story.session.append("compaction/prune", {"shadowedTokenCount": saved + 20, "tokens": 20})
    story.open_step()
    words = "2 old results of tools were cut to make room: about 400 tokens.\n"
    seq = story.session.seq - 1
    assert shown(story)[-2:] == [
        ("agent_thought_chunk", f"k{seq}", words),
        ("usage_update", {"used": 410, "size": 1000}),
    ]


def test_an_estimate_stands_where_the_provider_counts_nothing() -> None:
    story = Story(session(strict=False))
    story.open_turn()
    story.session.append("request/context", {"provider": "p", "model": "m", "contextWindow": 1000})
    story.session.append("step/end", {"turn": 1, "step": 1, "contextTokens": 321})
    assert shown(story) == [("usage_update", {"used": 321, "size": 1000})]
