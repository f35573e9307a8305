"""Files as tools may touch them: every path is judged by its canonical name and opened beneath a held directory.

Owns the way from a name to a descriptor and reading (docs/sandbox.md, clauses F-1 to F-5). The canonical name is
judged, and then walked without following any link, so that nobody can swap a folder between the two. Same policy as the
boxes. Writing is `overwriting`'s matter.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.sandbox.facts import Host
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.lists import is_workspace_secret
from acp_server.sandbox.openat import PATH_ONLY, open_strictly
from acp_server.sandbox.overwriting import TRIES, Expected, Overwriting
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.refusals import Denied, told
from acp_server.sandbox.replacing import Version, digest_of
from acp_server.sandbox.roots import Roots
from acp_server.sandbox.verdict import Access, verdict

EntryKind: TypeAlias = Literal["file", "directory", "link", "other"]


@value
class FileContent:
    """The bytes of a file, all of them or some that follow each other; `size` is all of it."""

    path: str
    data: bytes
    size: int
    mode: int
    version: Version


@value
class FileFacts:
    """What is known of a path without reading it; `path` is canonical."""

    path: str
    kind: EntryKind
    size: int
    mode: int
    mtime_ns: int


@value
class Entry:
    """One name in a directory, not followed."""

    name: str
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class Folder:
    """One directory of a walk, open as long as the walk stands at it. `path` is canonical."""

    path: str
    entries: tuple[Entry, ...]
    descriptor: int

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the first bytes of a file in it, or None when it is none, may not be read, or is a secret."""
        if is_workspace_secret(name):
            return None
        with suppress(OSError):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=self.descriptor)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return _read(descriptor, max_bytes)
            finally:
                os.close(descriptor)
        return None


class Fence:
    """What one call may do with files under one policy. Paths are absolute; links are followed, then judged."""

    def __init__(self, roots: Roots, policy: Policy, host: Host, leftovers: Leftovers | None = None) -> None:
        self._roots = roots
        self._policy = policy
        self._host = host
        self._overwriting = Overwriting(roots, policy, host, leftovers, partial(self.canonical, access="write"))

    def canonical(self, path: str, access: Access = "read") -> str:
        """Return the canonical name of a path that may be touched so.

        Raises:
            Denied: it may not.
            ServerError: INVALID_PATH, LINK_LOOP.
        """
        if not path.startswith("/") or "\0" in path:
            raise ServerError("INVALID_PATH", "A path has to be absolute and without null characters.")
        try:
            found = os.path.realpath(path)
            os.fsencode(found)
        except (OSError, ValueError) as error:
            raise ServerError("INVALID_PATH", "The path cannot be a name on this system.") from error
        refused = verdict(access, found, self._policy, self._host, fold_case=self._roots.folds_case)
        if refused is not None:
            raise Denied(refused, self._policy, self._host)
        return found

    def read(self, path: str, max_bytes: int, start: int = 0) -> FileContent:
        """Return bytes of a regular file from `start` on; its version has a hash when they are all of it.

        Raises:
            Denied: the policy refuses it.
            ServerError: FILE_NOT_FOUND, NOT_A_FILE, PERMISSION_DENIED and the like.
        """
        with self._opened(path, "read", os.O_RDONLY) as (found, descriptor):
            facts = os.fstat(descriptor)
            data = _read(descriptor, max_bytes, start)
            digest = digest_of(data) if len(data) == facts.st_size else None
            version = Version(facts.st_mtime_ns, facts.st_size, facts.st_ino, digest)
            return FileContent(found, data, facts.st_size, stat.S_IMODE(facts.st_mode), version)

    def stat(self, path: str) -> FileFacts | None:
        """Return the facts of what a path leads to, or None when there is nothing. Raise as `read` does."""
        try:
            with self._located(path, "read", PATH_ONLY) as (found, descriptor):
                facts = os.fstat(descriptor)
        except ServerError as error:
            if error.code in ("FILE_NOT_FOUND", "NOT_A_DIRECTORY"):
                return None
            raise
        mode = stat.S_IMODE(facts.st_mode)
        return FileFacts(found, _kind(facts.st_mode), facts.st_size, mode, facts.st_mtime_ns)

    def listdir(self, path: str) -> tuple[Entry, ...]:
        """Return the entries of a directory by name. Raise as `read` does; NOT_A_DIRECTORY when it is none."""
        with self._located(path, "read", os.O_RDONLY | os.O_DIRECTORY) as (_, descriptor):
            return _entries(descriptor)

    def walk(self, path: str, *, hidden: bool = True) -> Iterator[Folder]:
        """Yield the directories at and beneath a path, top down, by name. Links are entries and are not followed.

        What may not be read is left out, be it for the policy or for its mode. Raise as `read` does for `path` itself.
        """
        start = self.canonical(path)
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            try:
                with self._located(folder, "read", os.O_RDONLY | os.O_DIRECTORY) as (_, descriptor):
                    entries = _entries(descriptor)
                    yield Folder(folder, entries, descriptor)
            except ServerError:
                if folder == start:
                    raise
                continue
            below = [entry.name for entry in entries if entry.kind == "directory"]
            prefix = folder.rstrip("/")
            waiting += [f"{prefix}/{name}" for name in reversed(below) if hidden or not name.startswith(".")]

    def write_atomic(
        self, path: str, data: bytes, *, mode: int | None = None, expected_version: Expected = "any"
    ) -> Version:
        """Make a file have these bytes; see Overwriting."""
        return self._overwriting.write_atomic(path, data, mode, expected_version)

    def check_replace(self, path: str) -> None:
        """Do nothing where `write_atomic` may replace what stands there; see Overwriting."""
        self._overwriting.check_replace(path)

    def remove(self, path: str, *, expected_version: Expected = "any") -> None:
        """Remove a file; see Overwriting."""
        self._overwriting.remove(path, expected_version)

    @contextmanager
    def _opened(self, path: str, access: Access, flags: int) -> Iterator[tuple[str, int]]:
        """Open a regular file, without waiting for whoever feeds a pipe and without waking a device."""
        with self._located(path, access, PATH_ONLY) as (found, place):
            mode = os.fstat(place).st_mode
            if not stat.S_ISREG(mode):
                what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
                raise ServerError("NOT_A_FILE", f"{path} is {what}.")
            if PATH_ONLY == os.O_RDONLY:
                yield found, place
                return
            try:
                descriptor = os.open(f"/proc/self/fd/{place}", flags | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                raise told(error, path) from error
            try:
                yield found, descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def _located(self, path: str, access: Access, flags: int) -> Iterator[tuple[str, int]]:
        """Judge a path and open what it is called; once more when somebody renamed something in between."""
        descriptor, found = -1, path
        for left in reversed(range(TRIES)):
            found = self.canonical(path, access)
            directory, rest = self._roots.nearest(found)
            try:
                descriptor = open_strictly(rest, flags, directory=directory)
                break
            except OSError as error:
                if error.errno != errno.ELOOP or not left:
                    raise told(error, path) from error
        try:
            yield found, descriptor
        finally:
            os.close(descriptor)


def _read(descriptor: int, max_bytes: int, start: int = 0) -> bytes:
    if start:
        os.lseek(descriptor, start, os.SEEK_SET)
    parts, left = [], max_bytes
    while left > 0 and (data := os.read(descriptor, min(left, 1 << 20))):
        parts.append(data)
        left -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _entries(descriptor: int) -> tuple[Entry, ...]:
    with os.scandir(descriptor) as found:
        return tuple(Entry(entry.name, _entry_kind(entry)) for entry in sorted(found, key=lambda entry: entry.name))


def _entry_kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(mode: int) -> EntryKind:
    return "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
