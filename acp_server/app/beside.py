"""What one session keeps beside its log: earlier bytes of files in the store, long texts in a folder of its own.

Owns the bounds of both. The folder is the one place of the server's own state that the session's tools may read.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Journal
from acp_server.persistence.port import SessionPersistence
from acp_server.session.file_changes import kept_bytes
from acp_server.session.session import Session

RESULTS_NAME: Final = "results"
DEPTH: Final = 4
"""Folders from a long result up to the root of all sessions: results, session, project, root."""
MOST_RESULT_BYTES: Final = 512 * 1024 * 1024
"""Bytes of long results of one session; the oldest go first."""
MOST_KEPT_BYTES: Final = 512 * 1024 * 1024
"""Earlier bytes of files of one session; what would be more is not kept, and the change cannot be undone."""


class SessionBeside:
    """See Beside. `store` gives the session's store, None before it is there."""

    def __init__(self, session: Session, store: Callable[[], SessionPersistence | None], journal: Journal) -> None:
        self._session = session
        self._store = store
        self._journal = journal
        self._kept: dict[str, int] | None = None

    @property
    def folder(self) -> Path | None:
        """Return the folder of long results, there or not; None where sessions are not on a disk."""
        store = self._store()
        place = None if store is None else store.place_beside(self._session.id)
        return None if place is None else Path(place).resolve() / RESULTS_NAME

    def holds(self, path: str) -> bool:
        """Return whether an absolute path leads to a long result of this session, or to one that it has inherited."""
        folder = self.folder
        return folder is not None and (Path(path).resolve().is_relative_to(folder) or self.inherits(path))

    def inherits(self, path: str) -> bool:
        """Return whether it leads to a long result of another session that the inherited events of this one name."""
        length, folder, found = self._session.header.seed_length or 0, self.folder, Path(path).resolve()
        if not length or folder is None or found.parent.name != RESULTS_NAME or len(found.parents) < DEPTH:
            return False
        if found.parents[DEPTH - 1] != folder.parents[DEPTH - 2]:
            return False
        results = self._session.events.of_types(("tool/result",))
        return any(str(found) in text for event in results if event.seq < length for text in _texts(event.data))

    async def keep(self, content: bytes) -> str | None:
        """See Beside."""
        if self._kept is None:
            self._kept = kept_bytes(self._session.events)
        if sum(self._kept.values()) + len(content) > MOST_KEPT_BYTES:
            return None
        store = self._store()
        if store is None:
            return None
        ident = await store.put_attachment(self._session.id, content)
        self._kept[ident] = len(content)
        return ident

    async def fetch(self, ident: str) -> bytes:
        """Return bytes that were kept.

        Raises:
            ServerError: they are gone or damaged, or there is no store.
        """
        store = self._store()
        if store is None:
            raise ServerError("ATTACHMENT_NOT_FOUND", "what it held before is not there")
        return await store.get_attachment(self._session.id, ident)

    async def keep_text(self, text: str) -> str | None:
        """See Beside; a disk that refuses costs the file, not the result."""
        path = await self.new_file()
        if path is None:
            return None
        try:
            await asyncio.to_thread(_write, path, text.encode("utf-8", "replace"))
        except OSError:
            return None
        return path

    async def new_file(self) -> str | None:
        """See Beside."""
        folder = self.folder
        if folder is None:
            return None
        try:
            await asyncio.to_thread(_make_room, folder)
        except OSError:
            return None
        return str(folder / f"{secrets.token_hex(8)}.txt")

    async def settle(self) -> None:
        """See Beside."""
        await self._journal.flush()


def _texts(value: JsonValue) -> Iterator[str]:
    """Iterate over every text in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _make_room(folder: Path) -> None:
    """Make the folder, or take the oldest files away until a next one of usual size has room."""
    folder.mkdir(0o700, exist_ok=True)
    facts = {path: path.lstat() for path in folder.iterdir()}
    total = sum(fact.st_size for fact in facts.values())
    for path in sorted(facts, key=lambda path: facts[path].st_mtime_ns):
        if total < MOST_RESULT_BYTES:
            return
        total -= facts[path].st_size
        path.unlink(missing_ok=True)
