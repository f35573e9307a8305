"""Turns as the log tells them: the traces that every reader of a log may rely on."""

from __future__ import annotations

from functools import partial

import pytest

from acp_server.agent.request import options_from_log
from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.base.cancel import BY_DISPOSAL, BY_USER
from acp_server.base.errors import ServerError
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserSource,
    text_of,
)
from acp_server.messages.chunks import (
    BlockEnd,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.session.events import SessionEvent
from tests.support.rig import HANG, STOP, Rig, failure, text

OPENING = ["agent/inbox/spliced", "turn/start", "agent/inbox/spliced"]


def words(message: Message) -> str:
    return text_of(message.content)


async def test_a_prompt_without_tools() -> None:
    usage = UsageChunk(TokenUsage(7, 2))
    rig = Rig([(TextDelta(0, "Hel"), TextDelta(0, "lo"), usage, STOP)])
    assert await rig.run("hi there") == COMPLETED
    assert rig.types() == [
        *OPENING,
        "step/start",
        "user/message",
        "session/title",
        "request/header",
        "request/context",
        *["assistant/chunk"] * 4,
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    message = rig.session.events[12]
    assert message.source_event_seqs == (8, 9, 10, 11)
    assert message.data["usage"] == {"inputTokens": 7, "outputTokens": 2}
    assert [words(m) for m in rig.session.messages()] == ["hi there", "Hello"]


async def test_the_prompt_is_in_the_log_when_followup_returns() -> None:
    rig = Rig([text("a")])
    rig.say("one")
    assert rig.types() == OPENING
    assert not rig.agent.idle
    await rig.agent.when_idle()
    assert rig.agent.idle


async def test_nothing_is_asked_before_it_is_durable() -> None:
    rig = Rig([text("a")])
    await rig.run("one")
    before_request = rig.types().index("assistant/chunk")
    assert rig.journal.flushed == [before_request, len(rig.types())]


async def test_a_journal_that_fails_lets_no_request_out() -> None:
    rig = Rig([text("a")])
    rig.journal.fail_from = 0
    end = await rig.run("one")
    assert end == TurnEnd("error", failure=LlmFailure("DISK_FAILED", "The disk failed."))
    assert rig.model.asked == []


async def test_an_answer_that_is_not_durable_is_no_success() -> None:
    rig = Rig([text("a")])
    rig.journal.fail_from = 1
    assert (await rig.run("one")).kind == "error"


async def test_a_turn_that_waits_for_the_disk_before_a_request_can_be_cancelled() -> None:
    rig = Rig([text("a")])
    rig.journal.out_from = 1
    rig.say("one")
    await rig.journal.waiting.wait()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert (rig.ends["one"], rig.model.asked) == (TurnEnd("aborted", cause=BY_USER), [])
    assert rig.types()[-2:] == ["step/end", "turn/end"]


async def test_a_turn_that_waits_for_the_disk_at_its_end_can_be_cancelled() -> None:
    rig = Rig([text("a")])
    rig.journal.out_from = 2
    rig.say("one")
    await rig.journal.waiting.wait()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["one"] == TurnEnd("aborted", cause=BY_USER)
    assert rig.session.events[len(rig.session.events) - 1].data["reason"] == {"kind": "completed"}


async def test_a_cancelled_turn_does_not_wait_for_the_disk() -> None:
    rig = Rig([(HANG,)])
    rig.say("one")
    await rig.settle()
    rig.journal.fail_from = 0
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["one"] == TurnEnd("aborted", cause=BY_USER)
    assert [str(error) for error in rig.reported] == ["The disk failed."]


async def test_prompts_queue_and_each_is_settled_before_the_next_begins() -> None:
    rig = Rig([text("1"), text("2"), text("3")])
    seen: list[tuple[str, int]] = []

    def note(n: str, _end: TurnEnd) -> None:
        seen.append((n, rig.types().count("turn/start")))

    for n in ("one", "two", "three"):
        message = Message(n, "user", (TextBlock(n),), UserSource())
        rig.agent.followup(message, partial(note, n))
    await rig.agent.when_idle()
    assert seen == [("one", 1), ("two", 2), ("three", 3)]
    assert [words(m) for m in rig.session.messages()] == ["one", "1", "two", "2", "three", "3"]


async def test_request_n_plus_1_begins_with_request_n() -> None:
    rig = Rig([text("1"), text("2")])
    await rig.run("one")
    await rig.run("two")
    first, second = rig.model.asked
    assert second.messages[: len(first.messages)] == first.messages
    assert (second.system, second.tools, second.config) == (first.system, first.tools, first.config)
    assert rig.types().count("request/header") == 1


async def test_every_request_is_rebuilt_from_the_log_alone() -> None:
    rig = Rig([text("1")])
    await rig.run("one")
    kept = rig.model.asked[0]
    rebuilt = options_from_log(rig.session)
    assert rebuilt.messages[:1] == kept.messages
    assert (rebuilt.config, rebuilt.system) == (kept.config, kept.system)


async def test_a_transient_failure_is_tried_again_in_the_same_step() -> None:
    rig = Rig([(failure(),), text("ok")])
    rig.say("one")
    await rig.settle()
    retry = next(event for event in rig.session.events.since(0) if event.type == "llm/retry")
    assert (retry.data["retry"], retry.data["maxRetries"], retry.data["delayMs"]) == (1, 5, 500)
    assert rig.types()[-1] == "llm/retry"
    await rig.clock.advance(0.5)
    await rig.agent.when_idle()
    assert rig.ends["one"] == COMPLETED
    assert rig.types()[8:] == [
        "assistant/chunk",
        "llm/retry",
        "llm/retry-started",
        "assistant/chunk",
        "assistant/chunk",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert rig.session.events[13].source_event_seqs == (11, 12)


async def test_text_that_was_shown_is_kept_and_not_asked_for_again() -> None:
    rig = Rig([(TextDelta(0, "half an ans"), failure("TRANSPORT", "The connection broke."))])
    end = await rig.run("one")
    assert end == TurnEnd("error", failure=LlmFailure("TRANSPORT", "The connection broke."))
    assert len(rig.model.asked) == 1
    last = rig.session.messages()[-1]
    assert words(last) == "half an ans"


async def test_a_permanent_failure_ends_the_turn_and_the_next_prompt_works() -> None:
    rig = Rig([(failure("AUTH", "The key was refused."),), text("ok")])
    assert (await rig.run("one")).kind == "error"
    assert await rig.run("two") == COMPLETED


async def test_a_model_that_pauses_is_asked_again_with_what_it_said() -> None:
    rig = Rig([text("I look", FinishChunk("pause")), text("and found it.")])
    assert await rig.run("find it") == COMPLETED
    assert [words(message) for message in rig.session.messages()] == ["find it", "I look", "and found it."]
    assert [words(message) for message in rig.model.asked[1].messages] == ["find it", "I look"]
    assert rig.types().count("turn/start") == 1


@pytest.mark.parametrize(("brought", "left"), [(True, ["three"]), (False, ["two", "three"])])
async def test_images_that_a_provider_refuses_are_not_sent_again(brought: bool, left: list[str]) -> None:
    rig = Rig([text("fine"), (failure("INVALID_REQUEST", "No images."),), text("ok")])
    await rig.run("one")
    image = (ImageBlock("a", "image/png", 1, 1, 1),) if brought else ()
    rig.agent.followup(Message("two", "user", (TextBlock("two"), *image), UserSource()), lambda _end: None)
    await rig.agent.when_idle()
    assert await rig.run("three") == COMPLETED
    assert [words(message) for message in rig.model.asked[2].messages] == ["one", "fine", *left]


async def test_what_a_cancelled_answer_had_used_is_told() -> None:
    rig = Rig([(UsageChunk(TokenUsage(7, 1)), HANG)])
    rig.say("one")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    ended = list(rig.session.events.since(0))[-1]
    assert (ended.type, ended.data["usage"]) == ("turn/end", {"inputTokens": 7, "outputTokens": 1})


@pytest.mark.parametrize("shown", [(), (TextDelta(0, "  \n"),)])
async def test_cancel_before_anything_was_visible_leaves_no_message(shown: tuple[TextDelta, ...]) -> None:
    rig = Rig([(*shown, HANG)])
    rig.say("one")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["one"] == TurnEnd("aborted", cause=BY_USER)
    assert "assistant/message" not in rig.types()
    assert rig.types()[-2:] == ["step/end", "turn/end"]


async def test_cancel_keeps_what_was_visible() -> None:
    rig = Rig([(ReasoningDelta(0, "hm"), TextDelta(1, "visi"), HANG), text("fine")])
    rig.say("one")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    message = next(event for event in rig.session.events.since(0) if event.type == "assistant/message")
    assert message.data["interrupted"] is True
    assert words(rig.session.messages()[-1]) == "visi"
    assert await rig.run("two") == COMPLETED


async def test_cancel_ends_the_running_and_all_queued_prompts() -> None:
    rig = Rig([(HANG,), text("later")])
    for n in ("one", "two", "three"):
        rig.say(n)
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends == {n: TurnEnd("aborted", cause=BY_USER) for n in ("two", "three", "one")}
    canceled = [e for e in rig.session.events.since(0) if e.data.get("outcome") == "canceled"]
    assert [e.data["removedCount"] for e in canceled] == [2]
    assert await rig.run("four") == COMPLETED


async def test_cancel_during_the_wait_for_a_retry() -> None:
    rig = Rig([(failure(),)])
    rig.say("one")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["one"].kind == "aborted"
    assert "llm/retry-started" not in rig.types()


async def test_cancel_when_idle_does_not_hit_the_next_prompt() -> None:
    rig = Rig([text("a")])
    rig.agent.cancel(BY_USER)
    assert await rig.run("one") == COMPLETED
    rig.agent.cancel(BY_USER)
    assert rig.types()[-1] == "turn/end"


async def test_a_call_of_an_unknown_tool_is_answered_and_the_turn_goes_on() -> None:
    call = ToolCallBlock("c1", "nope", "{}")
    calls = (ToolCallDelta(0, "c1", "{}", "nope"), BlockEnd(0, call), FinishChunk("tool-calls"))
    rig = Rig([calls, text("sorry")])
    assert await rig.run("one") == COMPLETED
    result = rig.model.asked[1].messages[-1].content[0]
    assert result == ToolResultBlock("c1", (TextBlock("Error: there is no tool named 'nope'"),), is_error=True)
    kept = [t for t in rig.types() if t.startswith(("tool/", "step/"))]
    assert kept == ["step/start", "tool/call", "tool/result", "step/end", "step/start", "step/end"]


async def test_calls_that_were_cut_by_the_output_limit_never_run() -> None:
    rig = Rig([(TextDelta(0, "Writing"), ToolCallDelta(1, "c1", '{"pa', "write"), FinishChunk("max-tokens"))])
    assert await rig.run("one") == TurnEnd("max-tokens")
    assert "tool/call" not in rig.types()
    assert words(rig.session.messages()[-1]) == "Writing"


async def test_a_refused_exchange_leaves_the_surface() -> None:
    rig = Rig([text("fine"), (TextDelta(0, "I can"), FinishChunk("refusal")), text("ok")])
    await rig.run("one")
    assert await rig.run("bad") == TurnEnd("refusal")
    await rig.run("two")
    assert [words(m) for m in rig.model.asked[2].messages] == ["one", "fine", "two"]


async def test_the_step_budget_ends_a_turn() -> None:
    call = (BlockEnd(0, ToolCallBlock("c", "nope", "{}")), FinishChunk("tool-calls"))
    rig = Rig([call, call, call], max_steps=2)
    assert await rig.run("one") == TurnEnd("max-turn-requests")
    assert len(rig.model.asked) == 2


async def test_steering_joins_the_running_turn_at_its_next_step() -> None:
    rig = Rig([text("a"), text("b")])
    rig.say("one")
    rig.agent.steer(Message("s", "user", (TextBlock("and be quick"),), UserSource()))
    await rig.agent.when_idle()
    assert rig.types().count("turn/start") == 1
    assert [words(m) for m in rig.session.messages()] == ["one", "a", "and be quick", "b"]


async def test_steering_that_comes_too_late_for_its_turn_opens_the_next_one() -> None:
    rig = Rig([text("a"), text("b")])

    def settle(end: TurnEnd) -> None:
        rig.ends["steering"] = end

    def late(event: SessionEvent) -> None:
        if event.type == "turn/end" and event.data["turn"] == 1:
            steering = Message("s", "user", (TextBlock("and be quick"),), UserSource())
            rig.session.after_append(lambda: rig.agent.steer(steering, settle))

    rig.session.observe(late)
    await rig.run("one")
    await rig.agent.when_idle()
    assert rig.types().count("turn/start") == 2
    assert [words(m) for m in rig.session.messages()] == ["one", "a", "and be quick", "b"]
    assert rig.ends["steering"] == COMPLETED


async def test_steering_is_settled_with_the_turn_that_it_joined() -> None:
    rig = Rig([text("a"), text("b")])
    rig.say("one")
    steering = Message("s", "user", (TextBlock("and be quick"),), UserSource())
    rig.agent.steer(steering, lambda end: rig.ends.__setitem__("steering", end))
    await rig.agent.when_idle()
    assert rig.types().count("turn/end") == 1
    assert rig.ends == {"one": COMPLETED, "steering": COMPLETED}


async def test_a_prompt_that_waits_is_taken_back_alone() -> None:
    rig = Rig([text("a"), text("c")])
    for one in ("one", "two", "three"):
        rig.say(one)
    assert rig.agent.withdraw("p-two")
    assert rig.ends == {"two": TurnEnd("aborted", cause=BY_USER)}
    assert not rig.agent.withdraw("p-one")
    await rig.agent.when_idle()
    assert [words(m) for m in rig.session.messages()] == ["one", "a", "three", "c"]


async def test_disposal_ends_everything_and_refuses_what_comes_later() -> None:
    rig = Rig([(HANG,)])
    rig.say("one")
    await rig.settle()
    await rig.agent.dispose()
    assert rig.ends["one"] == TurnEnd("aborted", cause=BY_DISPOSAL)
    with pytest.raises(ServerError) as refused:
        rig.say("two")
    assert refused.value.code == "AGENT_DISPOSED"


async def test_a_fault_of_the_server_ends_the_turn_with_plain_words() -> None:
    rig = Rig([(RuntimeError("secret detail"),)])
    end = await rig.run("one")
    assert end.kind == "error"
    assert end.failure is not None
    assert rig.types()[-1] == "turn/end"


async def test_maintenance_runs_alone_and_prompts_wait_for_it() -> None:
    rig = Rig([text("a")])

    async def job(_: object) -> None:
        rig.say("one")
        assert "turn/start" not in rig.types()

    await rig.agent.maintain(job)
    await rig.agent.when_idle()
    assert rig.ends["one"] == COMPLETED


async def test_what_a_failed_attempt_used_is_told_once() -> None:
    used = UsageChunk(TokenUsage(7, 0))
    refused = failure("AUTH")
    rig = Rig([(used, refused)])
    await rig.run("hi")
    assert rig.session.events[rig.session.seq - 1].data["usage"] == {"inputTokens": 7, "outputTokens": 0}
    rig = Rig([(TextDelta(0, "shown"), used, refused)])
    await rig.run("hi")
    told = [event.type for event in rig.session.events.since(0) if "usage" in event.data]
    assert told == ["assistant/message"]
