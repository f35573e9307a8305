"""A session as a Markdown document that a person reads (docs/sessions-command.md, export). Pure.

Owns what is shown of each event and that no content gets out of its place: prompts and thoughts are quoted, arguments
and results are fenced, and an answer that might swallow what follows it is quoted too. It is made of the events that
were appended to the conversation, never of the Surface, so that compaction takes nothing from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from acp_server.base.json_value import JsonObject
from acp_server.base.printable import visible
from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    ModelSource,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserSource,
)
from acp_server.session.events import APPEND, SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.history import derive_message
from acp_server.session.title import normalize_title
from acp_server.session.undo import RESTORES

UNTITLED: Final = "Untitled session"
_ORDINARY_ENDS: Final = ("completed",)
_TICKS: Final = re.compile(r"`+")
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>&#|~])")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS_OUT: Final = re.compile(
    r"<(?=[!?]|/?(?:blockquote|details|summary|pre|script|style|textarea|title|xmp|iframe|plaintext)\b)", re.IGNORECASE
)
_FENCE: Final = re.compile(r"(`{3,}|~{3,})((?<=~).*|[^`]*)")
_DOUBTFUL: Final = re.compile(rf"```|~~~|^[\s>*+\-\d.)]*<[a-z/]|{_BREAKS_OUT.pattern}", re.IGNORECASE)
"""Outside of fences at the margin: a fence within a list, or HTML that may hold what follows."""


def transcript(header: SessionHeader, events: Iterable[SessionEvent]) -> str:
    """Return the document, LF at its end.

    Raises:
        MessageFormatError: an event does not hold the message that its type promises.
    """
    title, parts, names = "", list[str](), dict[str, str]()
    for event in events:
        if event.type == "session/title":
            title = normalize_title(str(event.data.get("title", ""))) or title
        elif event.type == "turn/end":
            parts += _turn_end(event.data)
        elif RESTORES in event.data:
            continue  # it stands where it was said first
        elif event.surface_op == APPEND and (message := derive_message(event)) is not None:
            parts += _message(event, message, names)
    return "\n\n".join([f"# {inline(title or UNTITLED)}", _facts(header), *parts]) + "\n"


def inline(text: str) -> str:
    """Return text that stands in a line of Markdown as itself; what would act on a terminal is an escape."""
    return _MARKUP.sub(r"\\\1", visible(text.replace("\n", " ")))


def code(text: str) -> str:
    """Return text as a code span, whatever backticks are in it; what would act on a terminal is an escape."""
    text = visible(text)
    ticks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    gap = " " if not text or text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block that nothing in it can close."""
    text = shown(text)
    fence = "`" * max(3, max(map(len, _TICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def quoted(text: str) -> str:
    """Return text as a quotation: blocks that it opens end with it, and no HTML in it ends the quotation."""
    lines, _ = _lines(shown(text))
    safe = (line if is_code else _BREAKS_OUT.sub("&lt;", line) for line, is_code in lines)
    return "\n".join(f"> {line}" if line else ">" for line in safe)


def answered(text: str) -> str:
    """Return an answer's Markdown as it is when it surely ends where it ends, else as a quotation."""
    lines, is_open = _lines(shown(text))
    doubtful = is_open or any(_DOUBTFUL.search(line) for line, is_code in lines if not is_code)
    return quoted(text) if doubtful else "\n".join(line for line, _ in lines)


def _lines(text: str) -> tuple[list[tuple[str, bool]], bool]:
    """Return each line and whether it belongs to a code block fenced at the margin, and whether such a one is open."""
    lines, fence = list[tuple[str, bool]](), ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        lines.append((line, bool(fence) or mark is not None))
        if not fence:
            fence = "" if mark is None else mark[1]
        elif mark is not None and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
    return lines, bool(fence)


def shown(text: str) -> str:
    """Return text with LF as line end and other control characters as pictures, so that none acts on a terminal."""
    text = text.replace("\r\n", "\n")
    return _CONTROLS.sub(lambda match: _picture(ord(match[0])), text)


def _picture(number: int) -> str:
    if number < 0x20:
        return chr(0x2400 + number)
    return "\u2421" if number == 0x7F else "\ufffd"


def _facts(header: SessionHeader) -> str:
    facts = [f"- Session: {code(header.id)}", f"- Created: {_moment(header.created_at)}"]
    if header.cwd is not None:
        facts.append(f"- Working directory: {code(header.cwd)}")
    if header.parent_session is not None:
        inherited = "" if header.seed_length is None else f", which gave its first {header.seed_length} events"
        facts.append(f"- Made from: {code(header.parent_session)}{inherited}")
    return "\n".join(facts)


def _message(event: SessionEvent, message: Message, names: dict[str, str]) -> Iterator[str]:
    if event.type == "tool/result":
        for block in message.content:
            yield from _block(block, names)
        return
    if isinstance(message.source, UserSource):
        yield f"## You · {_moment(event.time)}"
    elif isinstance(message.source, ModelSource):
        yield f"## Assistant · {inline(f'{message.source.provider}/{message.source.model}')} · {_moment(event.time)}"
    else:
        yield from _folded("Added by the server", [part for block in message.content for part in _added(block, names)])
        return
    for block in message.content:
        if isinstance(block, TextBlock):
            yield quoted(block.text) if message.role == "user" else answered(block.text)
        else:
            yield from _block(block, names)
    if event.data.get("interrupted") is True:
        yield "*This answer was interrupted.*"


def _added(block: Block, names: dict[str, str]) -> Iterator[str]:
    if isinstance(block, TextBlock):
        yield quoted(block.text)
    else:
        yield from _block(block, names)


def _block(block: Block, names: dict[str, str]) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield fenced(text)
        case ReasoningBlock(text):
            yield from _folded("Thought", [quoted(text)] if text.strip() else [])
        case ToolCallBlock(ident, name, arguments):
            names[ident] = name
            yield f"### Tool call {code(name)}"
            yield _arguments(arguments)
        case ToolResultBlock(ident, content, is_error):
            outcome = "Failed result" if is_error else "Result"
            yield f"### {outcome} of {code(names.get(ident, ident))}"
            for inner in content:
                yield from _block(inner, names)
        case ImageBlock():
            name = "" if block.name is None else f" {code(block.name)}"
            facts = f"{inline(block.media_type)}, {block.width} x {block.height}, {block.size} bytes"
            yield f"*Image{name} ({facts}): attachment {code(block.attachment_id)}*"
        case OpaqueBlock(kind):
            yield f"*A block of type {code(kind)}, which this version does not show.*"


def _folded(summary: str, parts: list[str]) -> Iterator[str]:
    if parts:
        yield "\n\n".join([f"<details>\n<summary>{summary}</summary>", *parts, "</details>"])


def _arguments(text: str) -> str:
    """Return raw JSON text laid out for reading when that loses nothing, else as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return fenced(text)
    same = (json.dumps(value, ensure_ascii=False, separators=pair) for pair in ((",", ":"), (", ", ": ")))
    return fenced(json.dumps(value, ensure_ascii=False, indent=2) if text in same else text, "json")


def _turn_end(data: JsonObject) -> Iterator[str]:
    reason = data.get("reason")
    kind = reason.get("kind") if isinstance(reason, Mapping) else None
    if not isinstance(reason, Mapping) or not isinstance(kind, str) or kind in _ORDINARY_ENDS:
        return
    error = reason.get("error")
    why = error.get("message") if isinstance(error, Mapping) else None
    yield f"*The turn ended: {inline(kind)}{f'; {inline(why)}' if isinstance(why, str) else '.'}*"


def _moment(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
