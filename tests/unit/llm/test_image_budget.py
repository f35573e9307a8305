"""How many images a request carries, and what is too large for Messages (clauses A-13, W-15)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.image_budget import MOST, MOST_CHARACTERS, STEP, encoded, within_budget
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
    images_of,
)
from acp_server.messages.request import CallConfig, GenerateOptions


def image(number: int, size: int = 30, side: int = 10) -> ImageBlock:
    return ImageBlock(f"a{number}", "image/png", size, side, side, f"{number}.png")


def prompt(number: int, size: int = 30, side: int = 10) -> Message:
    return Message(f"m{number}", "user", (TextBlock("see"), image(number, size, side)), UserSource())


def result(number: int, size: int = 30) -> Message:
    block = ToolResultBlock(f"c{number}", (TextBlock("file"), image(number, size)))
    return Message(f"m{number}", "user", (block,), ToolSource(f"c{number}"))


def left(messages: tuple[Message, ...]) -> list[str]:
    return [found.attachment_id for message in messages for found in images_of(message.content)]


def test_up_to_the_most_nothing_changes() -> None:
    messages = tuple(prompt(n) if n % 2 else result(n) for n in range(MOST))
    assert within_budget(messages) is messages
    assert within_budget(()) == ()


def test_beyond_the_most_the_oldest_go_by_steps() -> None:
    messages = tuple(prompt(n) if n % 2 else result(n) for n in range(MOST + 1))
    kept = within_budget(messages)
    assert left(kept) == [f"a{n}" for n in range(STEP, MOST + 1)]
    assert kept[STEP:] == messages[STEP:]
    assert kept[1].content == (TextBlock("see"), TextBlock("[the image 1.png was shown earlier and is left out]"))
    (block,) = kept[0].content
    assert isinstance(block, ToolResultBlock)
    assert block.content[1] == TextBlock("[the image 0.png was shown earlier and is left out]")
    longer = within_budget((*messages, prompt(99)))
    assert longer[: len(kept)] == kept, "the next request begins with the same messages"


def test_the_newest_image_always_goes() -> None:
    assert left(within_budget((prompt(1, MOST_CHARACTERS), prompt(2, MOST_CHARACTERS)))) == ["a2"]
    assert left(within_budget((prompt(1, MOST_CHARACTERS),))) == ["a1"]


@given(st.lists(st.integers(1, 6_000_000), max_size=40))
def test_what_is_left_is_the_newest_and_fits(sizes: list[int]) -> None:
    messages = tuple(prompt(n, size) for n, size in enumerate(sizes))
    kept = within_budget(messages)
    there = [found for message in kept for found in images_of(message.content)]
    assert sum(map(encoded, there)) <= MOST_CHARACTERS or len(there) == 1
    assert left(kept) == left(messages)[len(sizes) - len(there) :]


def test_messages_is_told_of_images_that_it_would_refuse() -> None:
    def shown(*messages: Message) -> list[str]:
        body: Any = AnthropicProtocol(lambda _image: "QUJD").encode(GenerateOptions(CallConfig("p", "m"), messages))
        parts = [part for message in body["messages"] for part in message["content"]]
        return ["image" if part["type"] == "image" else part["text"] for part in parts]

    largest = 5 * 1024 * 1024 // 4 * 3
    words = f"[the image 2.png is too large for this model: 10 x 10 pixels, {largest + 1} bytes]"
    assert shown(prompt(1, largest), prompt(2, largest + 1)) == ["see", "image", "see", words]
    words = "[the image 2.png is too large for this model: 8001 x 8001 pixels, 30 bytes]"
    assert shown(prompt(1, side=8000), prompt(2, side=8001)) == ["see", "image", "see", words]
    many = shown(*(prompt(n, side=2000) for n in range(20)), prompt(20, side=2001))
    assert many == ["see", "image"] * 20 + ["see", many[-1]]
    assert many[-1].startswith("[the image 20.png is too large")
