"""The files of this machine with what is unsaved in the person's editor laid over them (docs/tools.md, B-1 to B-7).

Owns when the editor is asked, and when it writes: only a file whose buffer is ahead of the disk, since the disk is then
not what the person sees. The fence has judged every path before the editor hears of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace, value
from acp_server.sandbox.replacing import Version, digest_of, same_version
from acp_server.tools.client_side import ClientFailedError, ClientSide
from acp_server.tools.files import FileContent, FileFacts, Listing, WalkedFile
from acp_server.tools.ignore_rules import Outer
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.text_file import TextFile, decode
from acp_server.tools.tool import ToolError
from acp_server.tools.unsaved import comparable, for_editor, unsaved

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of a file on the disk up to which the editor is asked; one answer of its is one line on the wire."""
LARGEST_UNSAVED: Final = 4 * 1024 * 1024
"""Bytes of an unsaved text that are taken."""
ABSENT: Final = b""
"""What lies beneath a buffer of a file that is not on the disk."""


@value
class _Seen:
    """A file as disk and editor have it: `content` is what counts, `text` the editor's, None where nothing is unsaved.

    `beneath` is what is on the disk.
    """

    content: FileContent
    beneath: bytes = ABSENT
    text: str | None = None


class EditorFiles:
    """See Files. `cancel` ends what waits for the editor."""

    def __init__(self, local: LocalFiles, client: ClientSide, cancel: CancelToken) -> None:
        self._local = local
        self._client = client
        self._cancel = cancel

    async def read(self, path: str, most: int, start: int = 0) -> FileContent:
        """See Files."""
        seen = await self._look(path, most, start)
        if seen.text is None:
            return seen.content
        return replace(seen.content, data=seen.content.data[start : start + most])

    async def facts(self, path: str) -> FileFacts:
        """See Files; a file that only the editor has is a file."""
        try:
            return await self._local.facts(path)
        except ToolError as error:
            content = await self._only_in_editor(path, error)
        return FileFacts(content.path, "file", content.size, 0)

    async def list_dir(self, path: str, most: int) -> Listing:
        """See Files."""
        return await self._local.list_dir(path, most)

    async def check_write(self, path: str) -> str:
        """See Files."""
        return await self._local.check_write(path)

    async def write(self, path: str, data: bytes, *, expected: Version | None) -> Version:
        """See Files. What the editor made of its text afterwards, by a formatter say, is a change like any other."""
        if expected is None:
            return await self._make(path, data)
        canonical = await self._local.check_write(path)
        seen = await self._look(path, LARGEST, 0)
        if seen.text is None:
            return await self._local.write(path, data, expected=expected)
        if not same_version(seen.content.version, expected):
            raise ToolError("STALE_FILE", f"{path} was changed in the editor since it was read")
        if not self._client.writes:
            raise _unsaved(path, "and the editor lets nobody else write them")
        await self._local.check_replace(path)
        await self._write_there(canonical, seen, data)
        return await self._written(path, seen, data)

    def walk(self, path: str, *, ignored: bool) -> Iterator[WalkedFile]:
        """See Files."""
        return self._local.walk(path, ignored=ignored)

    def rules_above(self, path: str) -> Sequence[Outer]:
        """See Files."""
        return self._local.rules_above(path)

    def readable(self, path: str) -> bool:
        """See Files."""
        return self._local.readable(path)

    async def _look(self, path: str, most: int, start: int) -> _Seen:
        """Return the file as it counts; the editor is asked about texts alone, and not about large ones."""
        try:
            found = await self._local.read(path, most, start)
        except ToolError as error:
            content = await self._only_in_editor(path, error)
            return _Seen(content, ABSENT, decode(content.data).text)
        if not self._client.reads or found.size > LARGEST:
            return _Seen(found)
        whole = found if len(found.data) == found.size else await self._local.read(path, LARGEST)
        file = await asyncio.to_thread(comparable, whole.data)
        text = None if file is None else await self._client.read_text(whole.path, self._cancel)
        if file is None or text is None:
            return _Seen(found)
        data = await asyncio.to_thread(unsaved, file, text)
        return _Seen(found) if data is None else _Seen(_content(whole.path, data, whole.data), whole.data, text)

    async def _only_in_editor(self, path: str, error: ToolError) -> FileContent:
        """Return an unsaved text of a file that is not on the disk; raise the error when there is none."""
        if error.code != "NOT_FOUND" or not self._client.reads:
            raise error
        canonical = await self._local.check_read(path)
        text = await self._client.read_text(canonical, self._cancel)
        data = unsaved(TextFile(""), text) if text else None
        if data is None:
            raise error
        return _content(canonical, data, ABSENT)

    async def _make(self, path: str, data: bytes) -> Version:
        try:
            await self._only_in_editor(path, ToolError("NOT_FOUND", path))
        except ToolError as error:
            if error.code != "NOT_FOUND":
                raise
            return await self._local.write(path, data, expected=None)
        raise ToolError("FILE_EXISTS", f"{path} is open in the editor and not saved yet; read it first")

    async def _write_there(self, canonical: str, seen: _Seen, data: bytes) -> None:
        text = for_editor(decode(data), seen.text or "")
        try:
            await self._client.write_text(canonical, text, self._cancel)
        except ClientFailedError as error:
            if await self._applied(canonical, seen, data) is None:
                raise _unsaved(canonical, f"and nothing was written: {error.message}") from error

    async def _written(self, path: str, before: _Seen, data: bytes) -> Version:
        after = await self._applied(path, before, data)
        if after is None:
            raise _unsaved(path, "and the editor wrote nothing, though it says so")
        return after.version if after.data == data else Version(0, len(data), 0, digest_of(data))

    async def _applied(self, path: str, before: _Seen, data: bytes) -> FileContent | None:
        """Return the file as it is when it has the data or is at least no longer what it was, else None."""
        try:
            after = (await self._look(path, LARGEST_UNSAVED, 0)).content
        except ServerError:
            return None
        return after if after.data == data or after.data not in (before.content.data, before.beneath) else None


def _content(path: str, data: bytes, beneath: bytes) -> FileContent:
    if len(data) > LARGEST_UNSAVED:
        raise ToolError("TOO_LARGE", f"{path} has {len(data):,} unsaved bytes in the editor; it has to be saved first")
    return FileContent(path, data, len(data), _version(data, beneath))


def _version(data: bytes, beneath: bytes) -> Version:
    """Return the version of an unsaved text: another one when the text or what is on the disk beneath it changes."""
    return Version(0, len(data), 0, digest_of(digest_of(beneath).encode() + data))


def _unsaved(path: str, why: str) -> ToolError:
    return ToolError("UNSAVED_BUFFER", f"{path} has unsaved changes in the editor, {why}. Ask the person to save it.")
