"""Which results of tools are cut, and what is left of them (docs/compaction.md, clauses R-1 to R-4). Pure.

The newest results and those that the model has not seen are spared. Of a file that was read several times the last
reading stays. Whatever goes leaves a pointer: how it can be had again. What was cut once is not cut again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.values import replace, value
from acp_server.compaction.policy import PruneLimits
from acp_server.messages.blocks import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock, text_of

SPARED: Final = 2
"""Results before the last answer that stay whole, the newest ones."""
LEAST_REPEAT: Final = 400
"""Characters from which on a repeated reading is worth cutting."""
CUT: Final = "[cut to make room: "
"""How the pointer begins in the place of what went."""
_ASKED: Final = 240
"""Characters of a call's arguments in a pointer at most."""
LONGEST_PATH: Final = 400
_NUMBER: Final = 24
"""Characters that tell how much was cut."""
NOWHERE: Final[Mapping[int, str]] = {}


@value
class Cut:
    """A result that gets another content: `place` among the messages, and the content."""

    place: int
    content: tuple[Block, ...]


def plan_cuts(
    messages: Sequence[Message | None],
    limits: PruneLimits,
    wholes: Mapping[int, str] = NOWHERE,
    *,
    spare: int = SPARED,
) -> list[Cut]:
    """Return the results that can be cut, in order. With `spare` below 0 not even unseen results are spared.

    `wholes` names, by the result's place, the files that hold all of a text.
    """
    calls = calls_of(messages)
    results = [place for place, message in enumerate(messages) if _result(message) is not None]
    if spare >= 0:
        seen = _last_answer(messages)
        results = [place for place in results if place < seen]
        results = results[: len(results) - spare] if spare else results
    later = _superseded(messages, calls)
    cuts = []
    for place in results:
        result = _result(messages[place])
        if result is None:
            continue
        pointer = pointer_to(calls.get(place), wholes.get(place))
        content = _cut(result, pointer, limits, repeated=place in later)
        if content is not None:
            cuts.append(Cut(place, content))
    return cuts


def pointer_to(call: ToolCallBlock | None, whole: str | None) -> str:
    """Return the sentence that says how what was cut can be had again, with a blank before it.

    A file that holds it is named before the call: to call again may have effects, and may give something else.
    """
    if whole is not None and len(whole) <= LONGEST_PATH:
        return f" The whole text is in {whole}, which you can read."
    if call is None:
        return ""
    asked = call.arguments if len(call.arguments) <= _ASKED else f"{call.arguments[: _ASKED - 1]}…"
    return f" Call {call.name} again to see them: {asked}"


def is_reading(call: ToolCallBlock | None) -> bool:
    """Return whether the call reads a file, so that calling it again is the way to what it gave."""
    return call is not None and _reading(call)[0] is not None


def cut_text(text: str, head: int, tail: int, pointer: str) -> str:
    """Return the first and last characters of a text with a note between them; a text that is short enough as it is."""
    gone = len(text) - head - tail
    if gone <= len(CUT) + max(_ASKED, len(pointer) + _NUMBER):
        return text
    end = text[len(text) - tail :] if tail else ""
    return f"{text[:head]}\n\n{CUT}{gone} characters.{pointer}]\n\n{end}"


def with_content(message: Message, content: tuple[Block, ...]) -> Message:
    """Return the result's message with another content."""
    block = message.content[0]
    if not isinstance(block, ToolResultBlock):
        raise TypeError("a result's message holds one result")
    return replace(message, content=(replace(block, content=content),))


def _cut(result: ToolResultBlock, pointer: str, limits: PruneLimits, *, repeated: bool) -> tuple[Block, ...] | None:
    text = text_of(result.content)
    if CUT in text:
        return None
    others = tuple(block for block in result.content if not isinstance(block, TextBlock))
    if repeated and len(text) > LEAST_REPEAT and not result.is_error:
        return (TextBlock(f"{CUT}{len(text)} characters. The same was read again later; see there.]"), *others)
    if len(text) <= limits.threshold_chars:
        return None
    head, tail = limits.head_chars, limits.tail_chars
    if result.is_error:
        head, tail = tail, head  # what went wrong stands at the end
    return (TextBlock(cut_text(text, head, tail, pointer)), *others)


def calls_of(messages: Sequence[Message | None]) -> dict[int, ToolCallBlock]:
    """Return the call of each result, by the result's place."""
    known: dict[str, ToolCallBlock] = {}
    found: dict[int, ToolCallBlock] = {}
    for place, message in enumerate(messages):
        for block in () if message is None else message.content:
            if isinstance(block, ToolCallBlock):
                known[block.id] = block
            elif isinstance(block, ToolResultBlock) and block.tool_call_id in known:
                found[place] = known[block.tool_call_id]
    return found


def _superseded(messages: Sequence[Message | None], calls: Mapping[int, ToolCallBlock]) -> frozenset[int]:
    """Return the places of readings that a later one, which is no error, repeats in full."""
    last: set[tuple[str, str]] = set()
    gone = set()
    for place in sorted(calls, reverse=True):
        path, window = _reading(calls[place])
        if path is None:
            continue
        if (path, window) in last or (path, "") in last:
            gone.add(place)
        result = _result(messages[place])
        if result is not None and not result.is_error and CUT not in text_of(result.content):
            last.add((path, window))
    return frozenset(gone)


def _reading(call: ToolCallBlock) -> tuple[str | None, str]:
    """Return the path that a call reads and which part of it, empty for the whole; None for any other call."""
    if "read" not in call.name:
        return None, ""
    try:
        asked = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None, ""
    path = asked.get("path", asked.get("file_path")) if isinstance(asked, dict) else None
    if not isinstance(path, str):
        return None, ""
    rest = {key: part for key, part in sorted(asked.items()) if key not in ("path", "file_path") and part is not None}
    return path, json.dumps(rest) if rest else ""


def _result(message: Message | None) -> ToolResultBlock | None:
    if message is None or len(message.content) != 1:
        return None
    block = message.content[0]
    return block if isinstance(block, ToolResultBlock) else None


def _last_answer(messages: Sequence[Message | None]) -> int:
    """Return the place of the last answer: what stands behind it was not seen by the model."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message is not None and message.role == "assistant":
            return place
    return 0
