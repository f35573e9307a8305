"""Names in a workspace that must not outlive their use: mount points and half-written files.

Owns the journal (docs/sandbox.md, clauses R-1 to R-4) of such names, one file a workspace beneath the server's state,
and its lock. A name is written down before it comes into being; the last user of a workspace, in whatever process,
takes them all away, and a start of the server sweeps what a crash left. Never removes anything that is not empty or
not its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from contextlib import suppress
from hashlib import sha256
from typing import Final

from acp_server.sandbox.openat import open_strictly

TEMPORARY_MARK: Final = ".acp-server-tmp-"
"""Part of the name of every half-written file."""

_SUFFIX: Final = ".names"


class Leftovers:
    """The journals of one process, beneath a directory of its own; safe to use from several threads."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.RLock()
        self._held: dict[str, tuple[int, int]] = {}

    def hold(self, workspace: str) -> Hold:
        """Return a hold on a workspace's journal; names are taken away no earlier than its release.

        Raises:
            OSError: the journal cannot be written.
        """
        with self._lock:
            descriptor, users = self._held.get(workspace, (-1, 0))
            if users == 0:
                descriptor = self._open(workspace)
            self._held[workspace] = (descriptor, users + 1)
        return Hold(self, workspace)

    def sweep(self) -> list[str]:
        """Take away what ended processes left, and return it. Journals that are in use are left alone."""
        taken: list[str] = []
        with self._lock, suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._directory)):
                if name.endswith(_SUFFIX):
                    taken += self._sweep_one(os.path.join(self._directory, name))
        return taken

    def _write(self, workspace: str, kind: str, path: str) -> None:
        with self._lock:
            os.write(self._held[workspace][0], f"{kind}{path}".encode("utf-8", "surrogateescape") + b"\0")

    def _release(self, workspace: str) -> None:
        with self._lock:
            descriptor, users = self._held[workspace]
            if users > 1:
                self._held[workspace] = (descriptor, users - 1)
                return
            del self._held[workspace]
            _clear(descriptor)

    def _open(self, workspace: str) -> int:
        os.makedirs(self._directory, 0o700, exist_ok=True)
        name = sha256(os.fsencode(workspace)).hexdigest()[:32] + _SUFFIX
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(os.path.join(self._directory, name), flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return descriptor

    def _sweep_one(self, path: str) -> list[str]:
        try:
            return _clear(os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC))
        except OSError:
            return []


class Hold:
    """One user of a workspace's journal."""

    def __init__(self, leftovers: Leftovers, workspace: str) -> None:
        self._leftovers = leftovers
        self._workspace = workspace
        self._released = False

    def make(self, path: str, *, directory: bool) -> bool:
        """Make an empty mount point and return True; False when this account may not, so that no command may.

        Somebody else's making it meanwhile is fine.
        """
        self._leftovers._write(self._workspace, "d" if directory else "f", path)  # noqa: SLF001 - two halves of one
        try:
            parent = open_strictly(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            if directory:
                os.mkdir(os.path.basename(path), 0o755, dir_fd=parent)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(os.path.basename(path), flags, 0o644, dir_fd=parent))
        except FileExistsError:
            return True
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                return False
            raise
        finally:
            os.close(parent)
        return True

    def note(self, path: str) -> None:
        """Write down the name of a file that is about to be made; it has to hold TEMPORARY_MARK."""
        self._leftovers._write(self._workspace, "t", path)  # noqa: SLF001 - two halves of one

    def release(self) -> None:
        """Give up the hold; harmless when done before."""
        if not self._released:
            self._released = True
            self._leftovers._release(self._workspace)  # noqa: SLF001 - two halves of one


def _clear(descriptor: int) -> list[str]:
    """Take away every name of a journal unless another process uses it; the descriptor is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(descriptor).st_size
        if size == 0:
            return []
        rows = os.pread(descriptor, size, 0).decode("utf-8", "surrogateescape").split("\0")
        taken = [row[1:] for row in dict.fromkeys(reversed(rows)) if row and _remove(row[0], row[1:])]
        os.ftruncate(descriptor, 0)
    except BlockingIOError:
        return []
    else:
        return taken
    finally:
        os.close(descriptor)


def _remove(kind: str, path: str) -> bool:
    try:
        parent = open_strictly(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return False
    name = os.path.basename(path)
    try:
        if kind == "d":
            os.rmdir(name, dir_fd=parent)
            return True
        facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
        ours = facts.st_size == 0 if kind == "f" else TEMPORARY_MARK in name
        if stat.S_ISREG(facts.st_mode) and ours:
            os.unlink(name, dir_fd=parent)
            return True
    except OSError:
        return False
    finally:
        os.close(parent)
    return False
