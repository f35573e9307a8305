"""Stores on a real disk, for tests of what a session's files go through."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.posix_io import PosixIo
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from tests.support.logs import whole_turn

SESSION = SessionId("s-1")
ME = Owner(os.getpid(), "here", 7)


class Trouble(PosixIo):
    """The real disk, which fails when it is told to: `fail["write"] = ENOSPC` lets the next writes fail."""

    def __init__(self) -> None:
        self.fail: dict[str, int] = {}
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fail:
            raise OSError(self.fail[name], os.strerror(self.fail[name]))

    def write(self, handle: int, data: bytes, offset: int) -> int:
        self._call("write")
        return super().write(handle, data[:50], offset)

    def sync(self, handle: int) -> None:
        self._call("sync")
        super().sync(handle)

    def truncate(self, handle: int, size: int) -> None:
        self._call("truncate")
        super().truncate(handle, size)

    def link(self, source: str, target: str) -> None:
        self._call("link")
        super().link(source, target)

    def sync_dir(self, path: str) -> None:
        self._call("sync_dir")
        super().sync_dir(path)

    def make_dir(self, path: str) -> bool:
        self._call("make_dir")
        return super().make_dir(path)

    def lock(self, handle: int) -> bool:
        self._call("lock")
        return super().lock(handle)

    def rename(self, source: str, target: str) -> None:
        self._call("rename")
        super().rename(source, target)


def store(root: Path, encoding: Encoding = "zstd", io: PosixIo | None = None) -> Store:
    return Store(io or PosixIo(), str(root), encoding, ME)


def new_header(name: str = SESSION, cwd: str | None = "/p") -> SessionHeader:
    return SessionHeader(SessionId(name), 1_750_000_000_000, cwd)


def write_session(where: Store, name: str = SESSION, turns: int = 3) -> tuple[list[SessionEvent], HeldSession]:
    """Store whole turns, one batch each, and give the session back unreleased."""
    files = where.fresh(new_header(name))
    events: list[SessionEvent] = []
    for turn in range(1, turns + 1):
        batch = whole_turn(len(events), turn, 5)
        files.commit(batch)
        events += batch
    return events, files


def log_file(files: HeldSession) -> Path:
    return Path(files.place.path)


def damage(path: Path, change: Callable[[bytearray], object]) -> None:
    """Change a file's bytes in place, so that it stays the same file."""
    data = bytearray(path.read_bytes())
    change(data)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(data)


NO_SPACE = errno.ENOSPC
