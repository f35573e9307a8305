"""Messages and the blocks they are made of. Values only; their JSON form is in `codec`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value


@value
class TextBlock:
    """Words."""

    text: str


@value
class ReasoningBlock:
    """The model's thinking, as far as the provider shows it."""

    text: str


@value
class ImageBlock:
    """A reference to an image that lies outside the log; `size` is in bytes, `width` and `height` in pixels."""

    attachment_id: str
    media_type: str
    size: int
    width: int
    height: int
    name: str | None = None


@value
class ToolCallBlock:
    """A call that the model asks for; `arguments` is its raw JSON text, exactly as produced."""

    id: str
    name: str
    arguments: str


@value
class ToolResultBlock:
    """What a call gave back."""

    tool_call_id: str
    content: tuple[Block, ...]
    is_error: bool = False


@value
class OpaqueBlock:
    """A block of a type this version does not know; `data` is its whole JSON form, kept for the way back."""

    type: str
    data: JsonObject


Block: TypeAlias = TextBlock | ReasoningBlock | ImageBlock | ToolCallBlock | ToolResultBlock | OpaqueBlock


@value
class UserSource:
    """The person wrote it."""


@value
class PluginSource:
    """A part of the server wrote it; `extra` holds what that part needs to recognise it again."""

    plugin: str
    extra: JsonObject


@value
class ModelSource:
    """A model wrote it; `replay_state` is the adapter's private matter (docs/llm.md)."""

    provider: str
    model: str
    replay_state: JsonValue = None


@value
class ToolSource:
    """A tool gave it back."""

    call_id: str


@value
class OtherSource:
    """A source of a kind this version does not know; `data` is its whole JSON form."""

    kind: str
    data: JsonObject


Source: TypeAlias = UserSource | PluginSource | ModelSource | ToolSource | OtherSource
Role: TypeAlias = Literal["system", "user", "assistant"]


@value
class Message:
    """One message of a conversation. A tool's result is a user message with exactly one ToolResultBlock."""

    id: str
    role: Role
    content: tuple[Block, ...]
    source: Source


def text_of(content: tuple[Block, ...], joiner: str = "") -> str:
    """Return the text blocks' text, joined; every other block is left out."""
    return joiner.join(block.text for block in content if isinstance(block, TextBlock))


def images_of(content: Iterable[Block]) -> Iterator[ImageBlock]:
    """Iterate over the images, those in results of tools too."""
    for block in content:
        if isinstance(block, ImageBlock):
            yield block
        elif isinstance(block, ToolResultBlock):
            yield from images_of(block.content)
