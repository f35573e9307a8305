"""How many tokens something takes, without a tokenizer: the one estimator (docs/compaction.md, clause M-1). Pure.

Owns the price of texts, messages, images, tools and headers. The weights are a least-squares fit to o200k_base over
English, Chinese, code, JSON, base64 and hexadecimal samples; a text of some thousand characters is met within 15 %.
A long text is priced by evenly spread samples, so that no message takes longer than some milliseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from acp_server.messages.blocks import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.blocks import ToolResultBlock as Result
from acp_server.messages.codec import block_to_json
from acp_server.messages.request import ToolSchema
from acp_server.session.request_header import EpochHeader

MESSAGE: Final = 4
"""Tokens around a message: its role and its bounds."""
BLOCK: Final = 3
CALL: Final = 8
"""Tokens around a call or a result: type, id, bounds."""
TOOL: Final = 8
WHOLE: Final = 6144
"""Characters up to which a text is priced whole."""
SLICES: Final = 8
SLICE: Final = 640

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_LONG: Final = re.compile(r"[A-Z]?[a-z]{6,}|[A-Z]{7,}")
_DIGITS: Final = re.compile(r"\d{1,3}", re.ASCII)
_MARKS: Final = re.compile(r"[!-/:-@\[-`{-~]+")
_LINES: Final = re.compile(r"\s*[\r\n]+")
_INDENTS: Final = re.compile(r" {2,}|\t+")
_WIDE: Final = re.compile("[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
_ALPHABET: Final = re.compile("[\u00c0-\u1fff]+")
_SYMBOL: Final = re.compile("[\u0080-\u00bf\u2000-\u2e7f\ua4d0-\uabff\ue000-\uf8ff\ufb00-\ufeff\U00010000-\U0001ffff]+")
_IMAGE_EDGE: Final = 1568
_IMAGE_PIXELS: Final = 750
"""Pixels of a token."""
_IMAGE_LEAST: Final = 85
_IMAGE_UNKNOWN: Final = 1600


def text_tokens(text: str) -> int:
    """Return the price of a text; 0 for an empty one."""
    if len(text) <= WHOLE:
        return round(_weighed(text))
    stride = (len(text) - SLICE) / (SLICES - 1)
    starts = [round(stride * number) for number in range(SLICES)]
    sampled = sum(_weighed(text[start : start + SLICE]) for start in starts)
    return round(sampled * len(text) / (SLICES * SLICE))


def _weighed(text: str) -> float:
    words, long = _WORD.findall(text), _LONG.findall(text)
    letters, excess = len("".join(words)), len("".join(long)) - 6 * len(long)
    marks = _MARKS.findall(text)
    tokens = 1.707 * len(words) - 0.164 * letters + 0.303 * excess
    tokens += 0.83 * len(_DIGITS.findall(text)) + 0.372 * len(marks) + 0.176 * len("".join(marks))
    tokens += 0.863 * len(_LINES.findall(text)) + 1.184 * len(_INDENTS.findall(text))
    if not text.isascii():
        tokens += 0.729 * len("".join(_WIDE.findall(text))) + 0.42 * len("".join(_ALPHABET.findall(text)))
        tokens += 1.062 * len("".join(_SYMBOL.findall(text)))
    return tokens


def image_tokens(block: ImageBlock) -> int:
    """Return the price of an image by its size in pixels, as it is sent: fitted into a square of 1568 pixels."""
    if block.width <= 0 or block.height <= 0:
        return _IMAGE_UNKNOWN
    scale = min(1.0, _IMAGE_EDGE / max(block.width, block.height))
    return max(_IMAGE_LEAST, round(block.width * scale * block.height * scale / _IMAGE_PIXELS))


def block_tokens(block: Block) -> int:
    """Return the price of one block, what it holds included."""
    fixed, texts = _parts(block)
    return fixed + sum(map(text_tokens, texts))


def blocks_tokens(blocks: Iterable[Block]) -> int:
    """Return the price of several blocks."""
    return sum(map(block_tokens, blocks))


def message_tokens(message: Message | None) -> int:
    """Return the price of a message; nothing for a node that derives to none."""
    return 0 if message is None else MESSAGE + blocks_tokens(message.content)


def message_parts(message: Message | None) -> tuple[int, list[str]]:
    """Return the price of a message without its texts, and these, for whoever can count texts exactly."""
    if message is None:
        return 0, []
    parts = [_parts(block) for block in message.content]
    return MESSAGE + sum(fixed for fixed, _ in parts), [text for _, texts in parts for text in texts]


def _parts(block: Block) -> tuple[int, list[str]]:
    """Return what a block costs beside its texts, and its texts."""
    match block:
        case TextBlock() | ReasoningBlock():
            return BLOCK, [block.text]
        case ToolCallBlock():
            return CALL, [block.name, block.arguments]
        case Result():
            parts = [_parts(inner) for inner in block.content]
            return CALL + sum(fixed for fixed, _ in parts), [text for _, texts in parts for text in texts]
        case ImageBlock():
            return BLOCK + image_tokens(block), []
        case _:
            return BLOCK, [json.dumps(block_to_json(block), ensure_ascii=False)]


def tool_tokens(tool: ToolSchema) -> int:
    """Return the price of a tool's name, description and schema."""
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
    return TOOL + text_tokens(tool.name) + text_tokens(tool.description) + text_tokens(schema)


def header_tokens(header: EpochHeader | None) -> int:
    """Return the price of what stands before the messages: system text and tools."""
    if header is None:
        return 0
    system = 0 if header.system is None else MESSAGE + text_tokens(header.system)
    return system + sum(map(tool_tokens, header.tools))
