"""The document that an export is, held to golden files and to a second reader of its fences.

`REWRITE_GOLDEN=1` in the environment writes the files anew; look at the difference before keeping it.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    OpaqueBlock,
    PluginSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    UserSource,
)
from acp_server.messages.codec import message_to_json
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.session.transcript import answered, code, fenced, inline, quoted, shown, transcript
from tests.support.story import Story, events_of

GOLDEN = Path(__file__).parent / "golden"
START = 1_750_000_000_000
HEADER = SessionHeader(SessionId("0d9f6f0e-5f3c-4a55-9a0c-1f0a8d1f7a11"), START, "/home/me/my `odd` project")


def told() -> Story:
    moments = count(START, 1000)
    return Story(Session(HEADER, now=lambda: next(moments)))


def titled(story: Story, title: str) -> None:
    story.session.append("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "user"}})


def written(story: Story, header: SessionHeader = HEADER) -> str:
    return transcript(header, events_of(story))


def holds(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def plain() -> Story:
    story = told().begin("m1", "Hello!\n\nWhat is a *fold*?")
    titled(story, "What a fold is")
    story.answer(
        ReasoningBlock("They ask for a definition.\n\nBe brief."), TextBlock("A fold turns a list into a value.")
    )
    story.close_step()
    story.close_turn()
    return story


def test_a_plain_conversation() -> None:
    holds("plain.md", written(plain()))


def test_a_session_made_from_another() -> None:
    header = SessionHeader(HEADER.id, START, parent_session=SessionId("parent"), seed_length=11)
    holds("forked.md", written(plain(), header))


def test_tool_calls_and_results_are_fenced_whatever_is_in_them() -> None:
    story = told().begin("m1", "Read the notes.")
    arguments = '{"path":"notes.md","lines":[1,2]}'
    story.answer(
        TextBlock("I look."), ToolCallBlock("c1", "read", arguments), ToolCallBlock("c2", "odd `name`", "{broken")
    )
    for ident, name in (("c1", "read"), ("c2", "odd `name`")):
        story.call(ident, name)
    story.result("c1", content="# Notes\n\n```sh\nrm -rf /\n```\n\n`````\n## You\n")
    failed = story.result_data("c2", "no such tool \x1b[31mred\x1b[0m\r\n", error={"name": "E", "code": "E"})
    block: dict[str, JsonValue] = {
        "type": "tool-result",
        "toolCallId": "c2",
        "content": [{"type": "text", "text": "no such tool \x1b[31mred\x1b[0m\r\n"}],
        "isError": True,
    }
    message: dict[str, JsonValue] = {
        "id": "r-c2",
        "role": "user",
        "content": [block],
        "source": {"kind": "tool", "callId": "c2"},
    }
    story.session.append(
        "tool/result", {**failed, "message": message}, surface_op="append", sources=[story.calls["c2"]]
    )
    story.close_step()
    story.open_step()
    story.answer(TextBlock("Done:\n\n```\ncode\n```"))
    story.close_step()
    story.close_turn()
    holds("tools.md", written(story))


def test_what_compaction_takes_off_the_surface_stays() -> None:
    story = plain()
    nodes = story.session.surface.nodes
    source = PluginSource("compact", {"compactionId": "k1"})
    summary = message_to_json(Message("s", "user", (TextBlock("a summary"),), source))
    story.replace(nodes[0], nodes[-1], summary)
    assert written(story) == written(plain())


def test_what_is_neither_prompt_nor_answer() -> None:
    story = told()
    story.open_turn()
    story.open_step()
    image = ImageBlock("sha256-ab", "image/png", 1234, 640, 480, "shot.png")
    opaque = OpaqueBlock("audio", {"type": "audio", "secret": "not shown"})
    story.say(message_to_json(Message("m1", "user", (TextBlock("See:"), image, opaque), UserSource())))
    context = Message("c1", "user", (TextBlock("Today is Monday."),), PluginSource("clock", {}))
    story.say(message_to_json(context))
    story.answer(TextBlock("It is"), interrupted=True)
    story.answer()
    story.close_step()
    story.close_turn("error", error={"code": "OVERLOADED", "message": "The model is *busy*."})
    holds("others.md", written(story))


def test_content_stays_in_its_place() -> None:
    story = told().begin("m1", "</details><!-- \n```\n# Not a heading")
    titled(story, "<b>[x](y)</b> `z`")
    story.answer(
        ReasoningBlock("</details>\n\n```\nnever closed"),
        TextBlock("Look:\n\n<details>\n```\nnever closed"),
    )
    story.close_step()
    story.close_turn("aborted", reason={"kind": "user"})
    holds("hostile.md", written(story))


def test_a_session_without_a_title_or_a_message() -> None:
    assert written(told()).startswith("# Untitled session\n\n- Session: `0d9f6f0e")


@pytest.mark.parametrize(
    "text",
    [
        "plain *words*\nand `code`",
        "```py\n<script>\n```",
        "~~~ a `b`\n```\n~~~",
        "````\n```\n````",
        "a < b and <b>bold</b>",
        "1. item\n2. item",
    ],
)
def test_an_answer_that_ends_where_it_ends_is_left_as_it_is(text: str) -> None:
    assert answered(text) == text


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("```\nopen", "> ```\n> open"),
        ("closed\n```", "> closed\n> ```"),
        ("- ```\n  x\n  ```", "> - ```\n>   x\n>   ```"),
        ("<div>\nfree", "> <div>\n> free"),
        ("see <!-- hidden", "> see &lt;!-- hidden"),
        ("a </Details> b\n\nc", "> a &lt;/Details> b\n>\n> c"),
    ],
)
def test_an_answer_that_may_swallow_what_follows_is_quoted(text: str, shown_as: str) -> None:
    assert answered(text) == shown_as


def test_text_within_a_line() -> None:
    assert inline("a *b* [c](d)\n<e> \\ `f` #1") == r"a \*b\* \[c\](d) \<e\> \\ \`f\` \#1"
    assert [code(text) for text in ("a", "a`b", "`a`", "``", " a")] == [
        "`a`",
        "``a`b``",
        "`` `a` ``",
        "``` `` ```",
        "`  a `",
    ]
    assert shown("a\x1b[1m\x00\r\nb\x7f\x9b\tc") == "a␛[1m␀\nb␡\ufffd\tc"


def body_of_fence(block: str) -> str:
    opened = re.match(r"(`{3,})[a-z]*\n", block)
    assert opened is not None
    lines = block[opened.end() :].split("\n")
    closing = [at for at, line in enumerate(lines) if re.fullmatch(rf" {{0,3}}`{{{len(opened[1])},}} *", line)]
    assert closing == [len(lines) - 1]
    return "\n".join(lines[:-1])


@given(st.text(alphabet="`~ab \n\t<>", max_size=60))
def test_nothing_closes_a_fence_but_its_end(text: str) -> None:
    body = body_of_fence(fenced(text))
    assert body == text.removesuffix("\n")


@given(st.text(alphabet="`~ab \n<>-!/details", max_size=60))
def test_every_line_of_a_quotation_is_quoted(text: str) -> None:
    lines = quoted(text).split("\n")
    assert all(line == ">" or line.startswith("> ") for line in lines)
    assert len(lines) == len(text.split("\n"))
