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
import secrets
import stat
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, Self

from acp_server.sandbox.openat import PATH_ONLY, open_strictly, rename_to_free_name

TEMPORARY_MARK: Final = ".acp-server-tmp-"
"""Part of the name of every half-written file."""

_SPARE_MOST: Final = 64
_SUFFIX: Final = ".names"


def _require_empty(descriptor: int, name: str) -> None:
    if os.listdir(descriptor):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), name)


class _Parents:
    """Descriptors of the directories that names stand in, each found once; no link lies in their way."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)

    def of(self, path: str) -> int:
        """Return the directory's descriptor; raises OSError."""
        folder = os.path.dirname(path)
        if folder not in self._open:
            self._open[folder] = open_strictly(folder, PATH_ONLY | os.O_DIRECTORY)
        return self._open[folder]


class Spare:
    """Empty directories that are kept for the next mount point: some disks take milliseconds to remove one."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._folder: int | None = None
        self._names: list[str] = []

    def place(self, parent: int, name: str) -> None:
        """Make a directory have that name. Raise OSError: FileExistsError and what making one gives."""
        while self._names and self._folder is not None:
            try:
                rename_to_free_name(self._folder, self._names.pop(), parent, name)
            except FileNotFoundError:  # another process has taken it
                continue
            except OSError:
                break
            return
        os.mkdir(name, 0o755, dir_fd=parent)

    def take(self, parent: int, name: str) -> None:
        """Take an empty directory away. Raise OSError when it is none, or not empty."""
        if not self._kept(parent, name):
            os.rmdir(name, dir_fd=parent)

    def _kept(self, parent: int, name: str) -> bool:
        """Return whether it is kept. What turns out to have been filled in that moment goes back at once."""
        held = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            _require_empty(held, name)
            folder, spare = self._open(), secrets.token_hex(8)
            if folder is None:
                return False
            try:
                rename_to_free_name(parent, name, folder, spare)
            except OSError:
                return False
            try:
                _require_empty(held, name)
            except OSError:
                rename_to_free_name(folder, spare, parent, name)
                raise
            self._names.append(spare)
        finally:
            os.close(held)
        return True

    def _open(self) -> int | None:
        """Return the descriptor of the directory, or None when no more is to be kept or it cannot be made."""
        if self._folder is None:
            try:
                os.makedirs(self._directory, 0o700, exist_ok=True)
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                self._folder = os.open(self._directory, flags)
                self._names = os.listdir(self._folder)
            except OSError:
                return None
        return self._folder if len(self._names) < _SPARE_MOST else None


class Leftovers:
    """The journals of one process, beneath a directory of its own; safe to use from several threads."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.RLock()
        self._held: dict[str, tuple[int, int]] = {}
        self._spare = Spare(os.path.join(directory, "spare"))

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

    def _write(self, workspace: str, names: Iterable[tuple[str, str]]) -> None:
        rows = "".join(f"{kind}{path}\0" for kind, path in names).encode("utf-8", "surrogateescape")
        with self._lock:
            os.write(self._held[workspace][0], rows)

    def _release(self, workspace: str) -> None:
        with self._lock:
            descriptor, users = self._held[workspace]
            if users > 1:
                self._held[workspace] = (descriptor, users - 1)
                return
            del self._held[workspace]
            self._clear(descriptor)

    def _open(self, workspace: str) -> int:
        os.makedirs(self._directory, 0o700, exist_ok=True)
        name = sha256(os.fsencode(workspace)).hexdigest()[:32] + _SUFFIX
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(os.path.join(self._directory, name), flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return descriptor

    def _sweep_one(self, path: str) -> list[str]:
        try:
            return self._clear(os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC))
        except OSError:
            return []

    def _clear(self, descriptor: int) -> list[str]:
        """Take away every name of a journal unless another process uses it; the descriptor is closed."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = os.fstat(descriptor).st_size
            if size == 0:
                return []
            rows = os.pread(descriptor, size, 0).decode("utf-8", "surrogateescape").split("\0")
            names = [(row[0], row[1:]) for row in dict.fromkeys(reversed(rows)) if row]
            with _Parents() as parents:
                taken = [path for kind, path in names if self._remove(kind, path, parents)]
            os.ftruncate(descriptor, 0)
        except BlockingIOError:
            return []
        else:
            return taken
        finally:
            os.close(descriptor)

    def _remove(self, kind: str, path: str, parents: _Parents) -> bool:
        name = os.path.basename(path)
        try:
            parent = parents.of(path)
            if kind == "d":
                self._spare.take(parent, name)
                return True
            facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
            ours = facts.st_size == 0 if kind == "f" else TEMPORARY_MARK in name
            if stat.S_ISREG(facts.st_mode) and ours:
                os.unlink(name, dir_fd=parent)
                return True
        except OSError:
            return False
        return False

    def _make(self, kind: str, path: str, parents: _Parents) -> bool:
        """Make an empty mount point and return True; False when this account may not."""
        name = os.path.basename(path)
        try:
            parent = parents.of(path)
        except OSError:
            return False
        try:
            if kind == "d":
                self._spare.place(parent, name)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(name, flags, 0o644, dir_fd=parent))
        except FileExistsError:
            return True
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                return False
            raise
        return True


class Hold:
    """One user of a workspace's journal."""

    def __init__(self, leftovers: Leftovers, workspace: str) -> None:
        self._leftovers = leftovers
        self._workspace = workspace
        self._released = False

    def make(self, wanted: Mapping[str, bool]) -> list[str]:
        """Make empty mount points, directories where True, and return those that are there now.

        One that this account may not make is left out, since no command may. Somebody else's making it meanwhile is
        fine.
        """
        names = [("d" if directory else "f", path) for path, directory in wanted.items()]
        leftovers = self._leftovers
        leftovers._write(self._workspace, names)  # noqa: SLF001 - two halves of one
        with _Parents() as parents:
            return [path for kind, path in names if leftovers._make(kind, path, parents)]

    def note(self, path: str) -> None:
        """Write down the name of a file that is about to be made; it has to hold TEMPORARY_MARK."""
        self._leftovers._write(self._workspace, [("t", path)])  # noqa: SLF001 - two halves of one

    def release(self) -> None:
        """Give up the hold; harmless when done before."""
        if not self._released:
            self._released = True
            self._leftovers._release(self._workspace)  # noqa: SLF001 - two halves of one
