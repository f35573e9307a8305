"""Changing one file's text: read as it is, checked against what the session saw, kept for undo, written whole.

Owns that order, and what editor and model are shown of what was changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from acp_server.base.values import value
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import cut_line, take_lines
from acp_server.tools.diff import Hunk, hunks
from acp_server.tools.file_kinds import describe_binary
from acp_server.tools.files import FileAccess, FileChange, FileContent
from acp_server.tools.nearby import not_found
from acp_server.tools.text_file import NotTextError, TextFile, decode, encode, split_lines, with_text
from acp_server.tools.tool import Card, Diff, Location, ToolError, ToolResult

MOST_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a file that can be changed."""
_HUNKS: Final = 20
_DIFF_CHARACTERS: Final = 256 * 1024
_SHOWN_BYTES: Final = 4096
_SHOWN_LINES: Final = 40
_WIDTH: Final = 400


@value
class Changed:
    """A change that is on the disk: the texts before (None for a new file) and after."""

    path: str
    old: str | None
    new: str


async def change_text(
    access: FileAccess, path: str, shown: str, change: Callable[[TextFile], str | None]
) -> Changed | None:
    """Give a file that the session has seen the text that `change` makes of it; None when it makes none.

    Everything else of the file stays: encoding, mark, mode, links.

    Raises:
        ToolError: UNREAD_FILE, STALE_FILE, NOT_TEXT, TOO_LARGE, what `change` and Files raise. Nothing is written then.
    """
    canonical = await access.files.check_write(path)
    content = await _whole(access, path, shown)
    access.seen.check(content.path, content.version, shown)
    file, text = await asyncio.to_thread(_changed, content, shown, change)
    if text is None:
        return None
    data = await asyncio.to_thread(encode, with_text(file, text))
    await access.keep(FileChange(canonical, content.data, data))
    access.seen.saw(canonical, await access.files.write(path, data, expected=content.version))
    return Changed(path, file.text, text)


async def create_text(access: FileAccess, path: str, text: str) -> Changed:
    """Make a file that is not there, in UTF-8.

    Raises:
        ToolError: FILE_EXISTS, UNENCODABLE, what Files raises.
    """
    canonical = await access.files.check_write(path)
    data = encode(TextFile(text))
    await access.keep(FileChange(canonical, None, data))
    access.seen.saw(canonical, await access.files.write(path, data, expected=None))
    return Changed(path, None, text)


def change_result(card: Card, changed: Changed, said: str, raw_output: dict[str, int | str]) -> ToolResult:
    """Return what editor and model are shown: the hunks as diffs, their lines as places, the text after in short."""
    found = hunks(changed.old or "", changed.new)
    diffs = _diffs(changed, found)
    locations = tuple(Location(changed.path, hunk.new_line) for hunk in found[:_HUNKS]) or card.locations
    text = "\n".join([said, *_after(found)]) if changed.old is not None else said
    card = Card(card.title, card.kind, locations, diffs)
    return ToolResult((TextBlock(text),), card, raw_output)


async def _whole(access: FileAccess, path: str, shown: str) -> FileContent:
    try:
        content = await access.files.read(path, MOST_BYTES + 1)
    except ToolError as error:
        if error.code == "NOT_FOUND":
            raise await not_found(access.files, path, shown) from error
        if error.code == "IS_DIRECTORY":
            raise ToolError(error.code, f"{shown} is a directory") from error
        raise
    if content.size > MOST_BYTES:
        raise ToolError(
            "TOO_LARGE", f"{shown} has {content.size:,} bytes; files above {MOST_BYTES:,} cannot be changed"
        )
    return content


def _changed(content: FileContent, shown: str, change: Callable[[TextFile], str | None]) -> tuple[TextFile, str | None]:
    try:
        file = decode(content.data)
    except NotTextError as error:
        raise ToolError(error.code, f"{shown} is {describe_binary(content.data)}, not text") from error
    return file, change(file)


def _diffs(changed: Changed, found: Sequence[Hunk]) -> tuple[Diff, ...]:
    """Return hunks while there is room; a diff of everything is of no use to a person."""
    if changed.old is None:
        return (Diff(changed.path, None, changed.new[:_DIFF_CHARACTERS]),)
    diffs: list[Diff] = []
    room = _DIFF_CHARACTERS
    for hunk in found[:_HUNKS]:
        room -= len(hunk.old) + len(hunk.new)
        if room < 0 and diffs:
            break
        diffs.append(Diff(changed.path, hunk.old[:_DIFF_CHARACTERS], hunk.new[:_DIFF_CHARACTERS]))
    return tuple(diffs)


def _after(found: Sequence[Hunk]) -> list[str]:
    """Return the changed places as they are after the change, with numbers, for the model."""
    lines: list[str] = []
    for hunk in found:
        lines += ["…"] if lines else []
        text = split_lines(hunk.new)
        lines += [f"{n:>6}\t{cut_line(line, _WIDTH)}" for n, line in enumerate(text, hunk.first_shown)]
    taken = take_lines(lines, _SHOWN_LINES, _SHOWN_BYTES)
    return [*taken.lines, *(["…"] if taken.more else [])]
