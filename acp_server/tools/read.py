"""The tool that reads a file's lines, or shows an image.

Owns what the model sees of a file: numbered lines, cut with a word, and how to read on. Large files are read only as
far as the lines lie.
"""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.json_value import JsonObject
from acp_server.base.values import replace, value
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import MOST_OF_A_LINE, cut_line, take_lines
from acp_server.tools.file_kinds import describe_binary
from acp_server.tools.files import FileAccess, FileContent, OpenAccess
from acp_server.tools.image_result import image_result
from acp_server.tools.line_window import LineWindow
from acp_server.tools.nearby import not_found
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.text_file import NotTextError, TextFile, decode, peculiarities, split_lines
from acp_server.tools.tool import Card, Effect, Location, ToolContext, ToolError, ToolResult

_WHOLE: Final = 4 * 1024 * 1024
"""Bytes up to which a file is read whole, so that its lines are counted and its version has a hash."""
_CHUNK: Final = 4 * 1024 * 1024
_HEAD: Final = 8192


class ReadArguments(BaseModel):
    """Arguments of `read`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="The file, absolute or relative to the working directory.")
    offset: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
    limit: int = Field(default=2000, ge=1, le=10_000, description="The most lines to read.")


@value
class _Page:
    """Lines from `first` on; `total` is None where not the whole file was read, `more` whether lines follow."""

    lines: tuple[str, ...]
    first: int
    total: int | None
    more: bool
    remark: str


class ReadTool:
    """See `read` in docs/tools.md."""

    name: Final = "read"
    description: Final = (
        "Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Each line of a text comes after its number "
        "and a tab, neither of which is part of the file. At most 2,000 lines, and 32 KiB, come at once; read on with "
        "offset. Use `list` for directories. "
        "A file has to be read before it is changed."
    )
    arguments: Final = ReadArguments

    def __init__(self, open_access: OpenAccess) -> None:
        self._open_access = open_access

    def effect(self, arguments: ReadArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("read", (resolve(cwd, arguments.path),))

    def card(self, arguments: ReadArguments, cwd: str) -> Card:
        """See Tool."""
        path = resolve(cwd, arguments.path)
        more = f" (from line {arguments.offset})" if arguments.offset > 1 else ""
        return Card(title("Read", shown(path, cwd), more), "read", (Location(path, arguments.offset),))

    def parallel(self, arguments: ReadArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        access = self._open_access(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        try:
            content = await access.files.read(path, _WHOLE)
            page = await _page(access, path, content, arguments, context)
        except NotTextError as error:
            result = await image_result(content, self.card(arguments, context.cwd), name, context)
            if result is None:
                words = describe_binary(content.data[:_HEAD])
                raise ToolError("NOT_TEXT", f"{name} is {words}, {content.size:,} bytes, not text") from error
            access.seen.saw(content.path, content.version)
            return result
        except ToolError as error:
            if error.code == "IS_DIRECTORY":
                raise ToolError(error.code, f"{name} is a directory; use list to see what is in it") from error
            if error.code == "NOT_FOUND":
                raise await not_found(access.files, path, name) from error
            raise
        if arguments.offset > 1 and not page.lines:
            total = f"{page.total:,} lines" if page.total is not None else "fewer lines"
            raise ToolError("OFFSET_BEYOND_END", f"{name} has {total}, so there is no line {arguments.offset:,}")
        access.seen.saw(content.path, content.version)
        return _result(page, self.card(arguments, context.cwd), path, name)


async def _page(
    access: FileAccess, path: str, content: FileContent, arguments: ReadArguments, context: ToolContext
) -> _Page:
    if len(content.data) == content.size:
        file = decode(content.data)
        lines = split_lines(file.text)
        taken = _taken(lines[arguments.offset - 1 :], arguments.limit)
        more = len(lines) >= arguments.offset + len(taken)
        return _Page(taken, arguments.offset, len(lines), more, peculiarities(file))
    return await _page_of_large(access, path, content, arguments, context)


async def _page_of_large(
    access: FileAccess, path: str, content: FileContent, arguments: ReadArguments, context: ToolContext
) -> _Page:
    """Return lines of a file that is not read whole; its encoding is told by its beginning."""
    head = _head(content.data[:_HEAD])
    if head.encoding not in ("utf-8", "windows-1252", "iso-8859-1"):
        raise ToolError("TOO_LARGE", f"{path} is too large ({content.size:,} bytes) to be read in its encoding")
    window = LineWindow(arguments.offset, arguments.limit, end=b"\r" if b"\n" not in content.data else b"\n")
    data, at = content.data.removeprefix(head.mark), len(content.data)
    window.feed(data)
    while not window.full and at < content.size:
        context.cancel.raise_if_cancelled()
        data = (await access.files.read(path, _CHUNK, at)).data
        if not data:
            break
        at += len(data)
        window.feed(data)
    ended = at >= content.size and not window.full
    lines = [_shown_bytes(line, cut) for line, cut in zip(window.lines, window.cut, strict=True)]
    return _Page(tuple(lines), arguments.offset, window.count if ended else None, not ended, peculiarities(head))


def _head(data: bytes) -> TextFile:
    """Return the beginning as text; a character that is cut in two at its end counts for nothing."""
    for cut in range(4):
        file = decode(data[: len(data) - cut])
        if not file.guessed:
            return file
    return decode(data)


def _shown_bytes(line: bytes, cut: int) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "ignore") if cut else line.decode("windows-1252", "replace")
    text = text.removesuffix("\r")
    if not cut:
        return cut_line(text)
    return f"{text[:MOST_OF_A_LINE]}… [about {cut + len(line) - MOST_OF_A_LINE:,} more bytes]"


def _taken(lines: list[str], most: int) -> tuple[str, ...]:
    return take_lines(map(cut_line, lines[:most]), most).lines


def _result(page: _Page, card: Card, path: str, name: str) -> ToolResult:
    last = page.first + len(page.lines) - 1
    lines = [f"{number:>6}\t{line}" for number, line in enumerate(page.lines, page.first)]
    if page.remark:
        lines.append(f"[{page.remark}; edits keep it so]")
    if page.more:
        total = f" of {page.total:,}" if page.total is not None else ""
        lines.append(f"[lines {page.first:,} to {last:,}{total} shown; read on with offset {last + 1}]")
    if not page.lines:
        lines.insert(0, "[the file is empty]")
    part = page.more or page.first > 1
    card = replace(card, title=title("Read", name, f" (lines {page.first}-{last})" if part else ""))
    output: JsonObject = {"path": path, "first": page.first, "last": last, "total": page.total, "more": page.more}
    return ToolResult((TextBlock("\n".join(lines)),), card, output)
