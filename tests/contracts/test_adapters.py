"""What every adapter does, through the real HTTP driver, whatever protocol it speaks (docs/llm.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.utils import formatdate
from itertools import pairwise, permutations
from typing import Any

import pytest

from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.llm.limits import HttpLimits
from acp_server.llm.retry import RetryPolicy, plan_retry
from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    ModelSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
)
from acp_server.messages.chunks import TextDelta, TokenUsage
from acp_server.messages.request import GenerateOptions, ToolSchema
from tests.support.llm_script import Answer, Playback, Script, text_of
from tests.support.llm_wire import Call
from tests.support.mock_llm import KEY, MockLlm
from tests.support.providers import PROTOCOLS, QUICK, WIRES, adapters, broken_by_error, request, stream_of
from tests.support.trace import Obj

PROVIDERS = list(WIRES)
USAGE: Obj = {"input": 9, "output": 4, "cached": 2}
COUNTED = {
    "openai": TokenUsage(7, 4, 2),
    "deepseek": TokenUsage(7, 4, 2),
    "responses": TokenUsage(7, 4, 2, None, 0),
    "anthropic": TokenUsage(7, 4, 2, 0),
}
PICTURE = ImageBlock("sha256:aa", "image/png", 4, 1, 1, "plot.png")
TOOL = ToolSchema("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SEALED = ("signed", "sealed")
"""What the mock's providers want back unchanged."""


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def scripted(mock: MockLlm, *answers: Answer) -> None:
    mock.script = Script(answers)


def said(ident: str, *content: Block | str) -> Message:
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return Message(ident, "user", blocks, UserSource())


def result(call: str, *content: Block) -> Message:
    return Message(f"r-{call}", "user", (ToolResultBlock(call, content),), ToolSource(call))


HELLO = said("m1", "Hello.")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_text_comes_as_it_is_written(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "Grüße, 世界 🎉, hello.", "chunks": 6, "usage": USAGE})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO, system="Be brief."))
    assert heard.blocks == (TextBlock("Grüße, 世界 🎉, hello."),)
    assert sum(isinstance(chunk, TextDelta) for chunk in heard.chunks) == 6
    assert (heard.finish.kind, heard.failure) == ("stop", None)
    assert heard.assembler.usage == COUNTED[provider]
    (asked,) = mock.asked
    assert [message["role"] for message in asked.messages] == ["system", "user"]
    assert KEY in asked.headers["x-api-key" if provider == "anthropic" else "authorization"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_reasoning_stands_before_the_text(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"reasoning": "Let me see.", "text": "Done."})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.blocks == (ReasoningBlock("Let me see."), TextBlock("Done."))
    assert heard.shown == heard.blocks


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_reasoning_alone_is_an_answer(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"reasoning": "Hm."})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert (heard.blocks, heard.finish.kind) == ((ReasoningBlock("Hm."),), "stop")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_call_and_its_result_go_round(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "I look.", "tool": "read", "args": {"path": "/é"}}, {"text": "Seen."})
    async with adapters(mock) as model:
        first = await model.ask(request(provider, HELLO))
        assert first.finish.kind == "tool-calls"
        assert first.blocks == (TextBlock("I look."), ToolCallBlock("call_1_0", "read", '{"path": "/é"}'))
        answer = first.message("m2", provider)
        second = await model.ask(request(provider, HELLO, answer, result("call_1_0", TextBlock("words"))))
    assert second.blocks == (TextBlock("Seen."),)
    before, after = mock.asked
    assert after.messages[: len(before.messages)] == before.messages
    assert [message["role"] for message in after.messages] == ["user", "assistant", "tool"]
    assert after.messages[1]["tool_calls"][0]["id"] == after.messages[2]["tool_call_id"] == "call_1_0"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_calls_beside_each_other(mock: MockLlm, provider: str) -> None:
    calls = [{"tool": "read", "args": {"path": f"/{n}"}} for n in range(3)]
    scripted(mock, {"calls": calls}, {"text": "Seen."})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
        assert heard.blocks == tuple(ToolCallBlock(f"call_1_{n}", "read", f'{{"path": "/{n}"}}') for n in range(3))
        results = [result(f"call_1_{n}", TextBlock(str(n))) for n in (2, 0, 1)]
        await model.ask(request(provider, HELLO, heard.message("m2", provider), *results))
    given = [m["tool_call_id"] for m in mock.asked[1].messages if m["role"] == "tool"]
    assert given == ["call_1_0", "call_1_1", "call_1_2"], "results stand in the order of their calls"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_call_without_a_result_is_given_one(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"tool": "read", "args": {}}, {"text": "ok"})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
        await model.ask(request(provider, HELLO, heard.message("m2", provider), said("m3", "Go on.")))
    roles = [message["role"] for message in mock.asked[1].messages]
    assert roles == ["user", "assistant", "tool", "user"]
    assert "interrupted" in json.dumps(mock.asked[1].messages[2])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_result_without_a_call_does_not_break_the_request(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "ok"})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO, result("lost", TextBlock("late"))))
    assert heard.failure is None
    assert [message["role"] for message in mock.asked[0].messages] == ["user", "user"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_images_reach_the_model(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "ok"}, {"text": "ok"})
    shown = (said("m1", "Look:", PICTURE), _calling(provider), result("c1", TextBlock("see:"), PICTURE))
    async with adapters(mock, images=lambda _image: "aW1hZ2U=") as model:
        await model.ask(request(provider, *shown))
    assert json.dumps(mock.asked[0].body).count("aW1hZ2U=") == 2
    async with adapters(mock) as model:
        await model.ask(request(provider, *shown))
    assert json.dumps(mock.asked[1].body).count("is not available") == 2, "an image that is gone is said to be gone"


def _calling(provider: str) -> Message:
    return Message("m2", "assistant", (ToolCallBlock("c1", "read", "{}"),), ModelSource(provider, "mock"))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_tools_are_offered(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "ok"})
    async with adapters(mock) as model:
        plain = request(provider, HELLO)
        await model.ask(GenerateOptions(plain.config, plain.messages, tools=(TOOL,)))
    assert mock.asked[0].tools == ["read"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_abort_after_any_chunk_ends_the_stream_and_the_connection(mock: MockLlm, provider: str) -> None:
    answer: Obj = {"reasoning": "Hm.", "text": "One two three.", "chunks": 3, "tool": "read", "args": {"path": "/a"}}
    scripted(mock, answer)
    async with adapters(mock) as model:
        whole = await model.ask(request(provider, HELLO))
        for place in range(1, len(whole.chunks)):
            mock.asked.clear()  # ids of calls are numbered by them
            scripted(mock, answer)
            heard = await model.ask(request(provider, HELLO), after=place)
            assert heard.chunks[:-1] == whole.chunks[:place], "what had come is kept, nothing comes after it"
            assert (heard.finish.kind, heard.failure) == ("aborted", "ABORTED")
        before = CancelToken()
        before.cancel(BY_USER)
        asked = len(mock.asked)
        heard = await model.ask(request(provider, HELLO), before)
        assert ([*heard.chunks], len(mock.asked)) == ([heard.finish], asked), "nothing is sent after the abort"
        assert heard.finish.kind == "aborted"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_abort_while_the_model_is_silent_hangs_up(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "Begun.", "hang": True}, {"text": "Again."})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO), after=1)
        assert heard.finish.kind == "aborted"
        again = await model.ask(request(provider, HELLO))
        assert again.blocks == (TextBlock("Again."),)
    for _ in range(100):
        if mock.asked[0].hung_up:
            break
        mock.stop.wait(0.05)
    assert mock.asked[0].hung_up


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nothing_said_is_a_failure(mock: MockLlm, provider: str) -> None:
    silent: list[Answer] = [
        {"text": ""},
        Playback([]),
        Playback([b": ping\n\n", b"data: [DONE]\n\n"]),
        {"status": 200, "body": ""},
    ]
    scripted(mock, *silent)
    async with adapters(mock) as model:
        for _ in silent:
            heard = await model.ask(request(provider, HELLO))
            assert heard.failure in ("EMPTY_RESPONSE", "STREAM_CLOSED")
            assert heard.shown == ()
            assert plan(heard.finish.failure) is not None


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_prompt_beyond_the_window_is_an_overflow(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"overflow": True})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.failure == "CONTEXT_WINDOW_EXCEEDED"
    assert plan(heard.finish.failure) is None


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_cut_answer_is_no_success_and_its_calls_are_not_made(mock: MockLlm, provider: str) -> None:
    cut: Obj = {"reasoning": "Hm.", "text": "So far", "tool": "read", "args": {"path": "/a"}, "finish": "length"}
    scripted(mock, cut, {"text": "On."})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
        assert heard.finish.kind == "max-tokens"
        assert heard.blocks == (ReasoningBlock("Hm."), TextBlock("So far"))
        on = await model.ask(request(provider, HELLO, heard.message("m2", provider), said("m3", "Go on.")))
    assert on.blocks == (TextBlock("On."),)
    assert [message["role"] for message in mock.asked[1].messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_refusal_is_told_as_one(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "I will not.", "finish": "content_filter"})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert (heard.blocks, heard.finish.kind) == ((TextBlock("I will not."),), "refusal")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_halves_of_characters_are_joined_or_replaced(mock: MockLlm, provider: str) -> None:
    scripted(mock, {"text": "a\ud83d\ude00b\ud83dc", "chunks": 6}, {"text": "ok"})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
        assert heard.blocks == (TextBlock("a😀b\ufffdc"),)
        assert all(_is_whole(chunk.text) for chunk in heard.chunks if isinstance(chunk, TextDelta))
        await model.ask(request(provider, said("m1", "x\ude00y \ud83d\ude00")))
    assert text_of(mock.asked[1].messages[-1]["content"]) == "x\ufffdy 😀"


def _is_whole(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.parametrize(("before", "after"), list(permutations(PROVIDERS, 2)))
async def test_a_conversation_goes_on_at_another_provider_and_back(mock: MockLlm, before: str, after: str) -> None:
    thoughtful: Obj = {"reasoning": "Let me see.", "text": "I look.", "tool": "read", "args": {"path": "/a"}}
    scripted(mock, thoughtful, thoughtful, {"text": "Back."})
    async with adapters(mock) as model:
        first = await model.ask(request(before, HELLO))
        talk = [HELLO, first.message("m2", before), result("call_1_0", TextBlock("one"))]
        second = await model.ask(request(after, *talk))
        talk += [second.message("m4", after), result("call_2_0", TextBlock("two"))]
        third = await model.ask(request(before, *talk))
    assert third.blocks == (TextBlock("Back."),)
    there, back = mock.asked[1], mock.asked[2]
    assert not any(mark in json.dumps(there.body) for mark in SEALED), "private state went to another provider"
    kept = {"responses": "sealed", "anthropic": "signed"}
    if before in kept:
        assert json.dumps(back.body).count(kept[before]) == 1, "its own state comes back, the other's does not"
    assert [_history(message) for message in there.messages] == [
        ("user", "Hello.", None),
        ("assistant", "I look.", "call_1_0"),
        ("tool", "one", "call_1_0"),
    ]
    assert [_history(message) for message in back.messages] == [
        ("user", "Hello.", None),
        ("assistant", "I look.", "call_1_0"),
        ("tool", "one", "call_1_0"),
        ("assistant", "I look.", "call_2_0"),
        ("tool", "two", "call_2_0"),
    ]


def _history(message: Obj) -> tuple[str, str, str | None]:
    calls = message.get("tool_calls") or [{"id": message.get("tool_call_id")}]
    return message["role"], text_of(message["content"]), calls[0]["id"]


@pytest.mark.parametrize("way", ["cut", "error"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_failure_in_mid_stream_keeps_what_was_shown(mock: MockLlm, provider: str, way: str) -> None:
    events, end = stream_of(provider, "The first half and more", 4)
    places = range(end + 1)

    def broken(place: int) -> Playback:
        return Playback(events[:place], ending="cut") if way == "cut" else broken_by_error(provider, events[:place])

    scripted(mock, *map(broken, places))
    async with adapters(mock) as model:
        shown = []
        for _ in places:
            heard = await model.ask(request(provider, HELLO))
            assert heard.finish.kind == "error"
            assert heard.failure == "SERVER" if way == "error" else heard.failure in ("TRANSPORT", "STREAM_CLOSED")
            visible = bool(heard.shown)
            assert (plan(heard.finish.failure, visible=visible) is None) == visible, "what was shown is not shown again"
            shown.append(heard.words)
    assert shown[0] == ""
    assert shown[-1] == "The first half and more"
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))


@pytest.mark.parametrize("way", ["abort", "cut", "error", "silence"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_attempt_that_breaks_off_keeps_the_counts_that_had_been_told(
    mock: MockLlm, provider: str, way: str
) -> None:
    events, place = stream_of(provider, "The first half and more", 4)
    broken = {"cut": Playback(events[:place], ending="cut"), "error": broken_by_error(provider, events[:place])}
    scripted(mock, broken.get(way, Playback(events[:place], ending="stall")))
    async with adapters(mock, limits=QUICK if way == "silence" else None) as model:
        heard = await model.ask(request(provider, HELLO), after=3 if way == "abort" else -1)
    assert heard.finish.failure is not None
    early = TokenUsage(5, 1, 2, 0) if provider == "anthropic" else None
    assert heard.assembler.usage == early, "Messages count what was read at once, the others at the end alone"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_cut_after_the_answer_was_whole_does_no_harm(mock: MockLlm, provider: str) -> None:
    events, _ = stream_of(provider, "All of it.")
    scripted(mock, Playback(events, ending="cut"))
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert (heard.failure, heard.blocks) == (None, (TextBlock("All of it."),))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_call_that_was_cut_is_never_whole(mock: MockLlm, provider: str) -> None:
    events, end = stream_of(provider, "", calls=[Call("call_1", "read", '{"path": "/a"}')])
    scripted(mock, Playback(events[:end], ending="cut"))
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.finish.kind == "error"
    assert heard.shown == ()


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7_000),
        ({"retry-after": "2.5"}, 2_500),
        ({"retry-after-ms": "1500"}, 1_500),
        (
            {"date": formatdate(1_700_000_000, usegmt=True), "retry-after": formatdate(1_700_000_009, usegmt=True)},
            9_000,
        ),
        ({}, None),
        ({"retry-after": "soon"}, None),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_wish_to_wait_is_kept(mock: MockLlm, provider: str, headers: dict[str, str], wait: int | None) -> None:
    scripted(mock, {"status": 429, "headers": headers, "body": '{"error":{"message":"slow down"}}'})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    failure = heard.finish.failure
    assert failure is not None
    assert (failure.code, failure.status, failure.retry_after_ms) == ("RATE_LIMIT", 429, wait)
    assert plan(failure) == (500 if wait is None else wait)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_refused_key_is_told_without_the_key(mock: MockLlm, provider: str) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "type": "authentication_error"}})
    scripted(mock, {"status": 401, "body": body})
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.failure == "AUTH"
    assert KEY not in str(heard.finish)
    assert plan(heard.finish.failure) is None


@pytest.mark.parametrize("said_before", ["", "Begun."])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_silence_is_given_up(mock: MockLlm, provider: str, said_before: str) -> None:
    scripted(mock, {"text": said_before, "hang": True})
    async with adapters(mock, limits=QUICK) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.failure == "TIMEOUT"
    assert heard.words == said_before


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_says_the_end_and_stays_is_left_soon(mock: MockLlm, provider: str) -> None:
    events, _ = stream_of(provider, "All said.", 2)
    whole = b"".join(event for event in events if b"[DONE]" not in event and b"message_stop" not in event)
    scripted(mock, Playback([whole], ending="stall"))
    async with adapters(mock, limits=HttpLimits(silence=600, ending=0.2)) as model:
        heard = await model.ask(request(provider, HELLO))
    assert (heard.failure, heard.words) == (None, "All said.")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_stream_of_twenty_thousand_events(mock: MockLlm, provider: str) -> None:
    words = "".join(f"{number:05d} " for number in range(20_000))
    events, _ = stream_of(provider, words, 20_000)
    whole = b"".join(events)
    scripted(mock, Playback([whole[at : at + 30_011] for at in range(0, len(whole), 30_011)]))
    async with adapters(mock) as model:
        heard = await model.ask(request(provider, HELLO))
    assert heard.failure is None
    assert sum(isinstance(chunk, TextDelta) for chunk in heard.chunks) == 20_000
    assert heard.blocks == (TextBlock(words),)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_one_connection_serves_one_request_after_the_other(mock: MockLlm, provider: str) -> None:
    scripted(mock, *({"text": str(number)} for number in range(5)))
    async with adapters(mock) as model:
        talk = [HELLO]
        for number in range(5):
            heard = await model.ask(request(provider, *talk))
            assert heard.blocks == (TextBlock(str(number)),)
            talk += [heard.message(f"a{number}", provider), said(f"u{number}", "Next.")]
    for before, after in pairwise(mock.asked):
        assert _unmarked(after.messages)[: len(before.messages)] == _unmarked(before.messages)


def _unmarked(messages: Any) -> Any:
    """Return the messages without the marks of the prompt cache, which move with the newest message."""
    return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))


def plan(failure: Any, *, visible: bool = False) -> int | None:
    """Return the wait before the first retry, or None when none is due."""
    assert failure is not None
    return plan_retry(RetryPolicy(), 1, failure, 0, 0.5, visible=visible)


def test_the_suite_speaks_every_protocol() -> None:
    assert set(PROTOCOLS.values()) == {"chat", "responses", "anthropic"}
