"""The words of a compaction: what a model is asked for, and what stands in the place of what was compacted. Pure.

Owns the instruction, the checkpoint message and how it is known again, and a conversation as plain text for summaries
that have to be made piece by piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    PluginSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    text_of,
)

PLUGIN: Final = "compact"
"""The source of checkpoints."""
ASKING: Final = "compact-request"
"""The source of the instruction; it is never on a Surface."""
OPEN: Final = "<conversation-summary>"
CLOSE: Final = "</conversation-summary>"
_BEFORE: Final = (
    "The beginning of this conversation was replaced by the summary below, to make room. Take it as what happened so "
    "far: rely on its facts, do not answer it, and go on with the work where it stands."
)
_TRIMMED: Final = (
    "The beginning of this conversation was left out, to make room, and could not be summarised. Files and commands "
    "can be read and run again; ask the person for what you miss."
)
_REQUEST: Final = "The person's latest request, word for word:"
_TODO: Final = "The plan as it stands:"
_STRICT: Final = (
    "This is a change of task by the server, not by the person: {task} Call no tool and do not go on with the work."
)
_TASK: Final = "write down what has to be known to go on with this conversation without reading it again."
_OUTLINE: Final = """\
Use these headings in this order, with short points under each, and "none" where there is nothing:

## Request
What the person wants, with every condition, preference and correction, in their own words where wording matters.
## Facts
What was learnt: decisions and their reasons, versions, limits, results of commands and tests.
## Files
Each file that was read or changed, by its exact path, and what matters in it or what was done to it.
## Errors
What failed, the exact message, and how it was solved or that it is open.
## State
What is done, what was being done last, in which step it stands.
## Next
What is to be done next, in order.

Copy paths, names, commands, numbers, signatures and error texts exactly; invent nothing. Write in the language of the
person's messages. Leave out greetings, what was tried in vain and no longer matters, and this request. When the
conversation begins with an earlier summary, merge it in and drop what is outdated. At most {words} words."""
_FOCUS: Final = "The person asks to keep especially: {focus}"
_PART: Final = """\
Below is part {number} of {count} of a conversation between a person and a coding agent, as text. {earlier}

<conversation-part>
{text}
</conversation-part>

"""
_EARLIER: Final = "This is the summary of what came before it; merge both into one:\n\n<earlier>\n{summary}\n</earlier>"
_WORDS_A_TOKEN: Final = 0.6


def instruction(budget: int, focus: str) -> str:
    """Return what the model is asked behind the conversation; `budget` is in tokens."""
    task = _STRICT.format(task=_TASK)
    outline = _OUTLINE.format(words=int(budget * _WORDS_A_TOKEN))
    return "\n\n".join([task, outline, *([_FOCUS.format(focus=focus)] if focus else [])])


def part_instruction(text: str, place: tuple[int, int], summary: str, budget: int, focus: str) -> str:
    """Return what a model is asked about one part of a conversation; `place` is the part's number and their count."""
    earlier = _EARLIER.format(summary=summary) if summary else ""
    number, count = place
    part = _PART.format(number=number, count=count, earlier=earlier, text=text)
    return part + instruction(budget, focus)


def asking(ident: str, text: str) -> Message:
    """Return the message that asks for a summary."""
    return Message(ident, "user", (TextBlock(text),), PluginSource(ASKING, {}))


def checkpoint(
    ident: str,
    summary: str | None,
    *,
    facts: Mapping[str, JsonValue],
    todo: Sequence[Mapping[str, JsonValue]] = (),
    request: Sequence[Block] = (),
) -> Message:
    """Return the message that stands for what was compacted; without a summary it says that there is none.

    `request` is the person's newest request when that went too: it follows as it was.
    """
    parts = [_TRIMMED] if summary is None else [_BEFORE, f"{OPEN}\n{summary.strip()}\n{CLOSE}"]
    if todo:
        parts.append("\n".join([_TODO, *(f"- [{item.get('status')}] {item.get('content')}" for item in todo)]))
    if request:
        parts.append(_REQUEST)
    text = TextBlock("\n\n".join(parts))
    return Message(ident, "user", (text, *request), PluginSource(PLUGIN, dict(facts)))


def is_checkpoint(message: Message | None) -> bool:
    """Return whether the message is what a compaction left."""
    return message is not None and isinstance(message.source, PluginSource) and message.source.plugin == PLUGIN


def paragraphs(messages: Sequence[Message | None]) -> list[str]:
    """Return a conversation as plain text, one text a block."""
    return [part for message in messages if message is not None for part in _paragraphs(message)]


def _paragraphs(message: Message) -> list[str]:
    who = "Agent" if message.role == "assistant" else "Person"
    if isinstance(message.source, PluginSource):
        who = "Server"
    said = (_said(who, block) for block in message.content)
    return [paragraph for paragraph in said if paragraph]


def _said(who: str, block: Block) -> str:
    match block:
        case TextBlock():
            return f"{who}: {block.text}"
        case ReasoningBlock():
            return ""
        case ToolCallBlock():
            return f"{who} calls {block.name} with {block.arguments}"
        case ToolResultBlock():
            return f"Result{' (failed)' if block.is_error else ''}: {text_of(block.content, chr(10))}"
        case ImageBlock():
            return f"{who} shows an image ({block.width}x{block.height})."
        case _:
            return f"{who}: [{block.type}]"
