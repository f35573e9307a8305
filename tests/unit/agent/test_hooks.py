"""The seven points at which others take part in a turn, and what becomes of hooks that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from acp_server.agent.contexts import NOTHING, Context
from acp_server.agent.hooks import (
    Allow,
    Ask,
    Asking,
    Decision,
    Deny,
    Enter,
    Hooks,
    Reject,
    Revise,
    Run,
    StepPlace,
)
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import replace
from acp_server.messages.blocks import Message, PluginSource, TextBlock, ToolCallBlock, UserSource, text_of
from acp_server.messages.chunks import BlockEnd, FinishChunk, LlmFailure, StreamChunk, TextDelta
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig, GenerateOptions, ToolSchema
from acp_server.session.events import Replace
from tests.support.rig import HANG, Answer, Rig, text

PLACE = StepPlace("s", "/p", 1, 1)
CALL: Answer = (BlockEnd(0, ToolCallBlock("c", "look", "{}")), FinishChunk("tool-calls"))


class Look:
    """One tool that says what it saw."""

    def __init__(self) -> None:
        self.ran = 0
        self.arguments: list[str] = []

    def schemas(self) -> Sequence[ToolSchema]:
        return ()

    def view(self, call: ToolCallBlock) -> JsonValue:
        return None

    def parallel(self, call: ToolCallBlock) -> bool:
        return False

    def asks(self, place: CallPlace) -> bool:
        return False

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        self.ran += 1
        self.arguments.append(place.call.arguments)
        return ToolOutcome((TextBlock("seen"),))


def note(words: str, ident: str) -> Message:
    return Message(ident, "user", (TextBlock(words),), PluginSource("test", {}))


def asked(rig: Rig, request: int = -1) -> list[str]:
    return [text_of(message.content) for message in rig.model.asked[request].messages]


def result(rig: Rig) -> tuple[str, Any]:
    event = next(event for event in rig.session.events.since(0) if event.type == "tool/result")
    message: Any = event.data["message"]
    return message["content"][0]["content"][0]["text"], event.data.get("error")


async def fail(*_given: object) -> Any:
    raise OSError("the hook's own trouble")


# -- pre-step


async def test_messages_are_rewritten_and_added_before_a_step() -> None:
    hooks, places = Hooks(), []

    async def louder(place: StepPlace, entry: Enter) -> Enter:
        places.append(place)
        return Enter((*(replace(m, content=(TextBlock("ONE"),)) for m in entry.messages), note("more", "n")))

    async def last(_place: StepPlace, entry: Enter) -> Enter:
        return Enter((*entry.messages, note("last", "l")))

    hooks.pre_step.add(louder)
    hooks.pre_step.add(last)
    rig = Rig([text("a")], hooks=hooks)
    assert await rig.run("one") == COMPLETED
    assert asked(rig) == ["ONE", "more", "last"]
    assert places == [PLACE]


async def test_a_rejected_step_blocks_the_turn_and_the_next_prompt_is_free() -> None:
    hooks = Hooks()

    async def reject(_place: StepPlace, _entry: Enter) -> Reject:
        return Reject("no")

    undo = hooks.pre_step.add(reject)
    rig = Rig([text("a")], hooks=hooks)
    assert await rig.run("one") == TurnEnd("blocked", words="no")
    assert rig.types()[3:] == ["turn/end"]
    assert rig.session.events[rig.session.seq - 1].data["reason"] == {"kind": "blocked", "message": "no"}
    undo()
    assert await rig.run("two") == COMPLETED
    assert asked(rig) == ["two"]


async def test_a_step_hook_that_fails_fails_the_turn() -> None:
    hooks = Hooks()
    hooks.pre_step.add(fail)
    rig = Rig([], hooks=hooks)
    end = await rig.run("one")
    assert end == TurnEnd("error", failure=LlmFailure("HOOK_FAILED", "The pre-step hook fail failed."))
    assert [type(error.__cause__) for error in rig.reported] == [OSError]


# -- request and stream


async def test_the_request_goes_where_a_hook_says() -> None:
    hooks = Hooks()

    async def other(_place: StepPlace, config: CallConfig) -> CallConfig:
        return replace(config, model="other")

    hooks.request.add(other)
    rig = Rig([text("a")], hooks=hooks)
    await rig.run("one")
    assert rig.model.asked[0].config.model == "other"
    context = next(event for event in rig.session.events.since(0) if event.type == "request/context")
    assert context.data["model"] == "other"


async def test_a_stream_is_wrapped_first_hook_innermost() -> None:
    hooks = Hooks()

    def marked(mark: str) -> Any:
        async def wrap(
            _place: StepPlace, _options: GenerateOptions, stream: AsyncIterator[StreamChunk]
        ) -> AsyncIterator[StreamChunk]:
            async for chunk in stream:
                yield TextDelta(chunk.index, chunk.text + mark) if isinstance(chunk, TextDelta) else chunk

        return wrap

    hooks.stream.add(marked("1"))
    hooks.stream.add(marked("2"))
    rig = Rig([text("a")], hooks=hooks)
    assert await rig.run("one") == COMPLETED
    assert text_of(rig.session.messages()[-1].content) == "a12"


async def test_a_stream_hook_that_fails_fails_the_turn_and_is_not_tried_again() -> None:
    hooks = Hooks()

    async def broken(
        _place: StepPlace, _options: GenerateOptions, stream: AsyncIterator[StreamChunk]
    ) -> AsyncIterator[StreamChunk]:
        async for chunk in stream:
            yield chunk
            raise OSError("trouble")

    hooks.stream.add(broken)
    rig = Rig([text("a")], hooks=hooks)
    end = await rig.run("one")
    assert end == TurnEnd("error", failure=LlmFailure("HOOK_FAILED", "A hook on the model's stream failed."))
    assert len(rig.model.asked) == 1


async def test_a_cancelled_stream_ends_behind_a_hook() -> None:
    hooks = Hooks()

    async def same(
        _place: StepPlace, _options: GenerateOptions, stream: AsyncIterator[StreamChunk]
    ) -> AsyncIterator[StreamChunk]:
        async for chunk in stream:
            yield chunk

    hooks.stream.add(same)
    rig = Rig([(TextDelta(0, "half"), HANG)], hooks=hooks)
    rig.say("one")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["one"] == TurnEnd("aborted", cause=BY_USER)
    assert text_of(rig.session.messages()[-1].content) == "half"


# -- calls


def deciding(decision: Decision) -> Any:
    async def decide(_place: CallPlace, _before: Decision) -> Decision:
        return decision

    return decide


async def yes(_place: CallPlace, _reason: str, _cancel: CancelToken) -> Decision:
    return Allow()


async def no(_place: CallPlace, reason: str, _cancel: CancelToken) -> Decision:
    return Deny(f"the person said no to: {reason}")


DENIED = {"name": "DeniedError", "code": "DENIED"}


@pytest.mark.parametrize(
    ("decisions", "ask", "ran", "words"),
    [
        ([Allow()], None, 1, "seen"),
        ([Deny("not here")], None, 0, "Error: the call was not allowed: not here"),
        ([Deny("not here"), Allow()], None, 0, "Error: the call was not allowed: not here"),
        ([Ask("may it look?")], None, 0, "Error: the call was not allowed: may it look? (nobody can be asked)"),
        ([Ask("may it look?")], yes, 1, "seen"),
        ([Ask("look?")], no, 0, "Error: the call was not allowed: the person said no to: look?"),
        ([Ask("may it look?"), Allow()], None, 1, "seen"),
    ],
)
async def test_a_call_runs_when_it_may(decisions: list[Decision], ask: Asking | None, ran: int, words: str) -> None:
    hooks, tools = Hooks(), Look()
    for decision in decisions:
        hooks.pre_tool.add(deciding(decision))
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools, ask=ask)
    assert await rig.run("one") == COMPLETED
    assert tools.ran == ran
    assert result(rig) == (words, None if ran else DENIED)


async def test_the_guard_is_asked_after_hooks_that_came_later_and_has_the_last_word() -> None:
    hooks, tools, told = Hooks(), Look(), []

    async def guard(_place: CallPlace, before: Decision) -> Decision:
        told.append(before)
        return Ask("which one?")

    rig = Rig([CALL, text("done"), CALL, text("done")], hooks=hooks, tools=tools, ask=no, guard=guard)
    hooks.pre_tool.add(deciding(Ask("sure?")))
    await rig.run("one")
    hooks.pre_tool.add(deciding(Allow()))
    await rig.run("two")
    assert (told, tools.ran) == ([Ask("sure?"), Allow()], 0)
    assert result(rig) == ("Error: the call was not allowed: the person said no to: which one?", DENIED)


async def test_a_revised_call_is_judged_asked_about_and_run_as_it_was_revised() -> None:
    hooks, tools, seen = Hooks(), Look(), list[tuple[str, str]]()

    async def revise(_place: CallPlace, _before: Decision) -> Revise:
        return Revise('{"at": 2}', Ask("sure?"))

    async def later(place: CallPlace, before: Decision) -> Decision:
        seen.append(("later", place.call.arguments))
        return before

    async def guard(place: CallPlace, before: Decision) -> Decision:
        seen.append(("guard", place.call.arguments))
        return before

    async def ask(place: CallPlace, reason: str, _cancel: CancelToken) -> Decision:
        seen.append((reason, place.call.arguments))
        return Allow()

    hooks.pre_tool.add(revise)
    hooks.pre_tool.add(later)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools, ask=ask, guard=guard)
    await rig.run("one")
    assert seen == [("later", '{"at": 2}'), ("guard", '{"at": 2}'), ("sure?", '{"at": 2}')]
    assert (tools.ran, tools.arguments) == (1, ['{"at": 2}'])


async def test_a_call_runs_once() -> None:
    hooks, tools = Hooks(), Look()

    async def twice(_place: CallPlace, _cancel: CancelToken, run: Run) -> ToolOutcome:
        await run()
        return await run()

    hooks.execute.add(twice)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools)
    await rig.run("one")
    assert tools.ran == 1
    assert result(rig) == ("Error: the tool 'look' failed", {"name": "ServerError", "code": "TOOL_FAILED"})


async def test_a_guard_that_fails_denies() -> None:
    hooks, tools = Hooks(), Look()
    hooks.pre_tool.add(fail)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools)
    assert await rig.run("one") == COMPLETED
    assert tools.ran == 0
    assert result(rig) == ("Error: the call was not allowed: what guards it failed with OSError", DENIED)


async def test_hooks_stand_around_a_call_the_first_outermost() -> None:
    hooks, tools, order = Hooks(), Look(), []

    def around(name: str) -> Any:
        async def call(_place: CallPlace, _cancel: CancelToken, run: Run) -> ToolOutcome:
            order.append(name)
            outcome = await run()
            order.append(f"/{name}")
            return outcome

        return call

    hooks.execute.add(around("a"))
    hooks.execute.add(around("b"))
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools)
    await rig.run("one")
    assert (order, tools.ran) == (["a", "b", "/b", "/a"], 1)


async def test_a_hook_may_answer_a_call_itself() -> None:
    hooks, tools = Hooks(), Look()

    async def cached(_place: CallPlace, _cancel: CancelToken, _run: Run) -> ToolOutcome:
        return ToolOutcome((TextBlock("from memory"),))

    hooks.execute.add(cached)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=tools)
    await rig.run("one")
    assert (result(rig), tools.ran) == (("from memory", None), 0)


async def test_an_outcome_is_revised_before_the_model_reads_it() -> None:
    hooks = Hooks()

    async def shorter(_place: CallPlace, outcome: ToolOutcome) -> ToolOutcome:
        return replace(outcome, content=(TextBlock("short"),), contexts=(note("by the way", "w"),))

    hooks.post_tool.add(shorter)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=Look())
    await rig.run("one")
    assert result(rig) == ("short", None)
    assert asked(rig)[-1] == "by the way"


async def test_a_revision_that_fails_makes_the_call_a_failed_one() -> None:
    hooks = Hooks()
    hooks.post_tool.add(fail)
    rig = Rig([CALL, text("done")], hooks=hooks, tools=Look())
    assert await rig.run("one") == COMPLETED
    assert result(rig)[1] == {"name": "OSError", "code": "HOOK_FAILED"}


# -- the end of a turn


async def test_a_turn_goes_on_when_a_hook_steers_it() -> None:
    hooks, ends = Hooks(), []

    async def once(place: StepPlace, end: TurnEnd) -> Sequence[Message]:
        ends.append((place.step, end))
        return () if len(ends) > 1 else (note("are the tests green?", "n"),)

    hooks.turn_stopping.add(once)
    rig = Rig([text("a"), text("b")], hooks=hooks)
    assert await rig.run("one") == COMPLETED
    assert ends == [(1, COMPLETED), (2, COMPLETED)]
    assert asked(rig) == ["one", "a", "are the tests green?"]


async def test_a_hook_at_the_end_that_fails_is_reported_and_the_turn_ends() -> None:
    hooks = Hooks()
    hooks.turn_stopping.add(fail)
    rig = Rig([text("a")], hooks=hooks)
    assert await rig.run("one") == COMPLETED
    assert [type(error) for error in rig.reported] == [OSError]


async def test_steering_counts_against_the_steps_of_a_turn() -> None:
    hooks, count = Hooks(), iter(range(10))

    async def always(_place: StepPlace, _end: TurnEnd) -> Sequence[Message]:
        return (note("go on", f"n{next(count)}"),)

    hooks.turn_stopping.add(always)
    rig = Rig([text("a"), text("b")], hooks=hooks, max_steps=2)
    assert await rig.run("one") == TurnEnd("max-turn-requests")


# -- contexts


async def test_a_state_is_told_when_it_differs() -> None:
    state = {"text": "branch main"}
    contexts = [Context("git", 0, lambda _cwd: state["text"])]
    rig = Rig([text("1"), text("2"), text("3"), text("4")], contexts=contexts)
    await rig.run("one")
    await rig.run("two")
    assert [words for words in asked(rig) if "branch" in words] == [asked(rig)[0]]
    assert asked(rig)[0].endswith("[git]\nbranch main")
    state["text"] = "branch other"
    await rig.run("three")
    assert asked(rig)[-2].endswith("[git]\nbranch other")
    state["text"] = ""
    await rig.run("four")
    assert asked(rig)[-2].endswith(f"[git]\n{NOTHING}")


async def test_only_what_has_changed_is_told_anew() -> None:
    state = {"git": "branch main", "day": "Monday"}
    contexts = [Context("git", 1, lambda _cwd: state["git"]), Context("day", 0, lambda _cwd: state["day"])]
    rig = Rig([text("1"), text("2")], contexts=contexts)
    await rig.run("one")
    assert asked(rig)[0].endswith("[day]\nMonday\n\n[git]\nbranch main")
    state["day"] = "Tuesday"
    await rig.run("two")
    assert asked(rig)[-2].endswith("its name.\n\n[day]\nTuesday")


async def test_what_left_the_surface_is_told_again() -> None:
    rig = Rig([text("1"), text("2")], contexts=[Context("git", 0, lambda _cwd: "branch main")])
    await rig.run("one")
    nodes = rig.session.surface.nodes
    gone = message_to_json(Message("k", "user", (TextBlock("so far"),), UserSource()))
    rig.session.append("user/message", gone, surface_op=Replace(nodes[0], nodes[-1]), sources=nodes)
    await rig.run("two")
    assert asked(rig)[1].endswith("[git]\nbranch main")
