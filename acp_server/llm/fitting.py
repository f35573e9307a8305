"""A request made fit for one model of one adapter (docs/llm.md, clauses A-9 and A-10). Pure.

Owns what is left out before an adapter sees it: images for models that read none or beyond what one request carries,
and other adapters' private state.
Returns the same objects where nothing changes, and the same text for the same image, so that prefixes stay equal.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TypeVar

from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.image_budget import within_budget
from acp_server.messages.blocks import Block, ImageBlock, Message, ModelSource, TextBlock, ToolResultBlock
from acp_server.messages.request import GenerateOptions

T = TypeVar("T")


def fit_request(options: GenerateOptions, model: ModelInfo, owned: AbstractSet[str]) -> GenerateOptions:
    """Return the request as the adapter may see it; `owned` are the providers that the same adapter serves."""
    blind = not model.reads_images
    messages = tuple(_fit_message(message, owned, blind=blind) for message in options.messages)
    messages = within_budget(messages)
    return options if _same(messages, options.messages) else replace(options, messages=messages)


def _fit_message(message: Message, owned: AbstractSet[str], *, blind: bool) -> Message:
    source = message.source
    if type(source) is ModelSource and source.replay_state is not None and source.provider not in owned:
        message = replace(message, source=replace(source, replay_state=None))
    if blind:
        content = _without_images(message.content)
        if content is not message.content:
            message = replace(message, content=content)
    return message


def _without_images(content: tuple[Block, ...]) -> tuple[Block, ...]:
    fitted = tuple(_without_image(block) for block in content)
    return content if _same(fitted, content) else fitted


def _without_image(block: Block) -> Block:
    if isinstance(block, ImageBlock):
        return TextBlock(image_placeholder(block))
    if isinstance(block, ToolResultBlock):
        content = _without_images(block.content)
        return block if content is block.content else replace(block, content=content)
    return block


def image_placeholder(block: ImageBlock) -> str:
    """Return what stands for an image that the model cannot read."""
    name = "" if block.name is None else f" {block.name}"
    digest = block.attachment_id.rpartition(":")[2][:12]
    return f"[image{name} {digest}, {block.media_type}, {block.width}x{block.height}: this model reads no images]"


def _same(new: tuple[T, ...], old: tuple[T, ...]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))
