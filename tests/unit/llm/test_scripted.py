"""The script language: parsing, playing, steps, tries, and what is shipped."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.base.values import replace
from acp_server.llm.failure import LlmError
from acp_server.llm.runtime import LlmRuntime
from acp_server.llm.scripted.adapter import ScriptedAdapter
from acp_server.llm.scripted.library import SCRIPTS
from acp_server.llm.scripted.parse import escape, parse_script
from acp_server.llm.scripted.play import HANG, Beat, _cut, beats
from acp_server.llm.scripted.script import Burst, Call, End, Pace, Pieces, Say, Think, Usage, Wait
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import (
    Message,
    ModelSource,
    PluginSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
)
from acp_server.messages.chunks import (
    BlockEnd,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.unit.llm.fakes import asking, collect


def test_every_statement_is_read() -> None:
    text = """
    # a comment
    pace 5
    chunks 3
    chunks words
    say Hello\\nyou\\\\
    think Hm.
    wait 7
    burst 2 x{n}
    call read_file {"path": "a"}
    call nothing
    usage 10 20 5
    finish max-tokens
    attempt
    usage 1 2
    error RATE_LIMIT Slow down. status=429 retry_after=1.5
    attempt
    error SERVER
    step
    hang
    step
    cut
    """
    assert parse_script(text) == (
        (
            (
                Pace(5),
                Pieces(3),
                Pieces(0),
                Say("Hello\nyou\\"),
                Think("Hm."),
                Wait(7),
                Burst(2, "x{n}"),
                Call("read_file", '{"path": "a"}'),
                Call("nothing", ""),
                Usage(TokenUsage(10, 20, 5)),
                End("max-tokens"),
            ),
            (Usage(TokenUsage(1, 2)), End(LlmFailure("RATE_LIMIT", "Slow down.", 429, 1500))),
            (End(LlmFailure("SERVER", "SERVER")),),
        ),
        ((End("hang"),),),
        ((End("cut"),),),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("say a\nshout b", "Line 2 of the script: 'shout' is no statement"),
        ("say", "Line 1 of the script: a text is missing"),
        ("pace fast", "Line 1 of the script: a whole number from 0 to 3600000 is needed, not 'fast'"),
        ("pace -1", "Line 1"),
        ("chunks 0", "Line 1"),
        ("burst 0 x", "Line 1"),
        ("burst 1000000 " + "x" * 100, "Line 1 of the script: a burst has at most"),
        ("call", "Line 1 of the script: the name of a tool is missing"),
        ("usage 1", "Line 1 of the script: 'usage' takes"),
        ("usage 1 2 3 4", "Line 1"),
        ("error soft x", "Line 1 of the script: 'error' takes a code in capitals"),
        ("error X y status=99", "Line 1"),
        ("error X y retry_after=soon", "Line 1 of the script: 'retry_after' takes seconds"),
        ("finish later", "Line 1 of the script: 'finish' takes one of"),
        ("\n\nhang now", "Line 3 of the script: 'hang' stands alone"),
        ("step 2", "Line 1 of the script: 'step' stands alone"),
        ("hang\nsay x", "Line 2 of the script: 'say' follows the end of the answer"),
    ],
)
def test_a_wrong_line_is_named(text: str, words: str) -> None:
    with pytest.raises(LlmError) as caught:
        parse_script(text)
    assert caught.value.code == "INVALID_SCRIPT"
    assert caught.value.message.startswith(words)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).filter(lambda t: t.strip() == t))
def test_escaped_text_is_said_as_it_was(text: str) -> None:
    assert parse_script(f"say {escape(text)}") == (((Say(text),),),)


@given(st.text(), st.integers(0, 50))
def test_pieces_make_the_whole(text: str, pieces: int) -> None:
    parts = list(_cut(text, pieces))
    assert "".join(parts) == text
    assert all(parts)
    assert pieces == 0 or len(parts) == min(pieces, len(text))


def play(text: str) -> list[Beat]:
    return list(beats(parse_script(text)[0][0], "c"))


def test_an_answer_in_full() -> None:
    assert play("pace 5\nthink a\nchunks 2\nsay bcd\nsay e\ncall n {}\nusage 1 2\nwait 9") == [
        ReasoningDelta(0, "a"),
        BlockEnd(0, ReasoningBlock("a")),
        Wait(5),
        TextDelta(1, "b"),
        Wait(5),
        TextDelta(1, "cd"),
        Wait(5),
        TextDelta(1, "e"),
        BlockEnd(1, TextBlock("bcde")),
        Wait(5),
        ToolCallDelta(2, "c1", "{", "n"),
        Wait(5),
        ToolCallDelta(2, "c1", "}"),
        BlockEnd(2, ToolCallBlock("c1", "n", "{}")),
        Wait(9),
        UsageChunk(TokenUsage(1, 2)),
        FinishChunk("tool-calls"),
    ]


def test_ends_of_answers() -> None:
    assert play("say a") == [TextDelta(0, "a"), BlockEnd(0, TextBlock("a")), FinishChunk("stop")]
    assert play("say a\nfinish refusal")[-1] == FinishChunk("refusal")
    assert play("say a\ncut") == [TextDelta(0, "a")]
    assert play("say a\nhang") == [TextDelta(0, "a"), HANG]
    assert play("say a\nerror X y") == [TextDelta(0, "a"), FinishChunk("error", LlmFailure("X", "y"))]
    assert play("") == [FinishChunk("stop")]
    assert play("call n") == [
        ToolCallDelta(0, "c1", "", "n"),
        BlockEnd(0, ToolCallBlock("c1", "n", "")),
        FinishChunk("tool-calls"),
    ]


def test_a_burst_has_no_pace() -> None:
    assert play("pace 5\nburst 2 x{n}\nsay y") == [
        TextDelta(0, "x0"),
        TextDelta(0, "x1"),
        Wait(5),
        TextDelta(0, "y"),
        BlockEnd(0, TextBlock("x0x1y")),
        FinishChunk("stop"),
    ]


async def no_sleep(_seconds: float) -> None:
    return None


def adapter() -> ScriptedAdapter:
    return ScriptedAdapter(no_sleep)


async def said(options: GenerateOptions, model: ScriptedAdapter | None = None) -> str:
    chunks = await collect((model or adapter()).stream(options, CancelToken()))
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def demo(*content: str, model: str = "demo") -> GenerateOptions:
    return asking(*content, provider="scripted", model=model)


async def test_a_prompt_can_be_the_script() -> None:
    assert await said(demo("@script say one liner")) == "one liner"
    assert await said(demo("\n @script\nsay a\nsay b")) == "ab"
    assert "scripted demo" in await said(demo("@scripted say no"))


async def test_steps_follow_tool_results() -> None:
    options = demo("@script call a {}\nstep\ncall b {}\nstep\nsay end")
    model = adapter()
    answers: list[tuple[ToolCallBlock, ...]] = []
    for step in range(4):
        assembler = BlockAssembler()
        async for chunk in model.stream(options, CancelToken()):
            assembler.push(chunk)
        blocks = assembler.blocks()
        answers.append(tuple(block for block in blocks if isinstance(block, ToolCallBlock)))
        result = ToolResultBlock(f"c{step}", (TextBlock("ok"),))
        options = replace(
            options,
            messages=(
                *options.messages,
                Message(f"a-{step}", "assistant", blocks, ModelSource("scripted", "demo")),
                Message(f"r-{step}", "user", (result,), ToolSource(f"c{step}")),
            ),
        )
    assert answers == [
        (ToolCallBlock("call-m-1-1", "a", "{}"),),
        (ToolCallBlock("call-r-0-1", "b", "{}"),),
        (),
        (),
    ]
    assert await said(options, model) == "Done."


async def test_tries_follow_each_other_for_the_same_request() -> None:
    model, options = adapter(), demo("@script error SERVER one\nattempt\nerror SERVER two\nattempt\nsay three")
    ends: list[StreamChunk] = [(await collect(model.stream(options, CancelToken())))[-1] for _ in range(4)]
    assert ends == [
        FinishChunk("error", LlmFailure("SERVER", "one")),
        FinishChunk("error", LlmFailure("SERVER", "two")),
        FinishChunk("stop"),
        FinishChunk("stop"),
    ]
    other = replace(options, session_id="other")
    assert (await collect(model.stream(other, CancelToken())))[-1] == ends[0]


async def test_the_memory_of_tries_is_bounded() -> None:
    model = adapter()
    for number in range(300):
        await said(replace(demo("@script say x"), session_id=str(number)), model)
    assert len(model._tries) == 256


async def test_words_of_a_plugin_are_not_the_prompt() -> None:
    options = demo("@script say mine")
    note = Message("n", "user", (TextBlock("a notice"),), PluginSource("x", {}))
    assert await said(replace(options, messages=(*options.messages, note))) == "mine"
    assert "“a notice”" in await said(replace(options, messages=(note,)))
    assert "You wrote nothing" in await said(replace(options, messages=()))


async def test_the_demo_answers_by_the_words_of_the_prompt() -> None:
    hello, help_, tour = [await said(demo(text)) for text in ("Hello there", "Help me, please", "What is\n\\n this?")]
    assert hello.startswith("Hello! I am the demo model")
    assert help_.startswith("Here is what you can try")
    assert tour.startswith("You wrote “What is \\n this?”.")


@pytest.mark.parametrize("name", list(SCRIPTS))
async def test_every_shipped_script_plays(name: str) -> None:
    runtime = LlmRuntime()
    runtime.register(["scripted"], adapter())
    call = runtime.prepare(CallConfig("scripted", name))
    chunks = await collect(call.stream(demo("something", model=name), CancelToken()))
    assert chunks[-1] == FinishChunk("stop")
    assert {info.id for info in runtime.models()} == set(SCRIPTS)


async def test_requests_beside_the_conversation_do_not_play_the_prompt() -> None:
    title = replace(demo("@script hang"), purpose="session-title")
    assert await said(title) == "@script hang"
    assert await said(replace(demo("Rename the class"), purpose="compaction")) == (
        "The conversation so far, in short. The person wrote last: “Rename the class”"
    )
    assert await said(demo("")) != ""
    assert await said(demo(" ", model="echo")) == "(an empty prompt)"
    assert await said(demo("a\nb", model="echo")) == "a\nb"


async def test_unknown_models_are_refused() -> None:
    with pytest.raises(LlmError) as caught:
        adapter().model("scripted", "gpt")
    assert caught.value.code == "UNKNOWN_MODEL"


async def test_waiting_is_done_by_the_given_sleep_and_others_get_their_turn() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await said(demo("@script wait 250\nburst 64 x"), ScriptedAdapter(sleep))
    assert slept == [0.25, 0, 0]


@pytest.mark.parametrize("script", ["hang", "wait 3600000"])
async def test_cancellation_ends_silence(script: str) -> None:
    cancel = CancelToken()
    task = asyncio.create_task(collect(ScriptedAdapter().stream(demo(f"@script say a\n{script}"), cancel)))
    for _ in range(5):
        await asyncio.sleep(0)
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await task
