"""Files as tools may touch them: every path is judged by its canonical name and opened beneath a held directory.

Owns the way from a name to a descriptor (docs/sandbox.md, clauses F-1 to F-9). The canonical name is judged, and then
walked without following any link, so that nobody can swap a folder between the two. Same policy as the boxes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.sandbox.facts import Host
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.lists import is_workspace_secret, within
from acp_server.sandbox.markers import advice, marker
from acp_server.sandbox.openat import PATH_ONLY, open_strictly
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import effective_level
from acp_server.sandbox.replacing import Version, digest_of, put, same_version, version_of
from acp_server.sandbox.survey import folds_case
from acp_server.sandbox.verdict import Access, Refusal, verdict

Expected: TypeAlias = Version | Literal["any", "absent"]
EntryKind: TypeAlias = Literal["file", "directory", "link", "other"]

_TRIES: Final = 8
_CODES: Final = {
    errno.ENOENT: ("FILE_NOT_FOUND", "{path} does not exist."),
    errno.ENOTDIR: ("NOT_A_DIRECTORY", "A part of {path} is no directory."),
    errno.EISDIR: ("NOT_A_FILE", "{path} is a directory."),
    errno.EACCES: ("PERMISSION_DENIED", "This account may not do that to {path}."),
    errno.EPERM: ("PERMISSION_DENIED", "This account may not do that to {path}."),
    errno.ELOOP: ("LINK_LOOP", "{path} leads through links that go in circles or change all the time."),
    errno.ENAMETOOLONG: ("INVALID_PATH", "The path is too long."),
    errno.ENOSPC: ("DISK_FULL", "The disk is full; {path} was not changed."),
    errno.EDQUOT: ("DISK_FULL", "The quota is used up; {path} was not changed."),
    errno.EROFS: ("PERMISSION_DENIED", "The disk of {path} is read-only."),
}


class Denied(ServerError):  # noqa: N818 - it names an outcome, not an error
    """The policy refuses a path. The message is the marker (docs/sandbox.md, clause D-1) and what would help."""

    def __init__(self, refusal: Refusal, policy: Policy, host: Host) -> None:
        level = effective_level(policy, host)
        self.refusal = refusal
        self.marker = marker(refusal.access, level, refusal.path)
        super().__init__("SANDBOX_DENIED", f"{self.marker} {advice(refusal.access, refusal.path)}")


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


class Roots:
    """Directories that are held open for a session: its workspace and the person's further ones, canonical."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Open them. Raise ServerError INVALID_ROOT for one that is no directory."""
        self._held: dict[str, int] = {}
        for path in dict.fromkeys((*paths, "/")):
            try:
                self._held[path] = open_strictly(path, PATH_ONLY | os.O_DIRECTORY)
            except OSError as error:
                self.close()
                raise ServerError("INVALID_ROOT", f"{path} cannot be used as a root: {error.strerror}.") from error
        self.folds_case = any(folds_case(path) for path in paths)

    def nearest(self, path: str) -> tuple[int, str]:
        """Return the descriptor of the closest root above a canonical path, and the rest of the path."""
        root = max((root for root in self._held if within(path, root)), key=len)
        return self._held[root], path[len(root.rstrip("/")) + 1 :] or "."

    def close(self) -> None:
        """Let go of them; harmless when done before."""
        while self._held:
            os.close(self._held.popitem()[1])


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
        self._leftovers = leftovers

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
        """Make a file have these bytes, whole or not at all, and return its version once it is on the disk.

        A link inside of the roots stays one and its target is written. Missing directories are made. A replaced file
        keeps its mode, owner and attributes; `mode` is for another one. `expected_version` "absent" makes a file only.

        Raises:
            Denied: the policy refuses it, or other names lead to the same file.
            ServerError: FILE_CHANGED when it is not the expected version, and the like.
        """
        for _ in range(_TRIES):
            found = self.canonical(path, "write")
            try:
                return self._write(found, data, mode, expected_version)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOENT, errno.ENOTDIR):
                    raise _told(error, path) from error
                last = error
        raise _told(last, path) from last

    def remove(self, path: str, *, expected_version: Expected = "any") -> None:
        """Remove a file (a link's target, not the link). Raise as `write_atomic` does."""
        found = self.canonical(path, "write")
        try:
            with self._parent(found) as (parent, name):
                with _existing(parent, name) as old:
                    if old is None:
                        raise ServerError("FILE_NOT_FOUND", f"{path} does not exist.")
                    self._check(found, old, expected_version)
                os.unlink(name, dir_fd=parent)
        except OSError as error:
            raise _told(error, path) from error

    def _write(self, found: str, data: bytes, mode: int | None, expected: Expected) -> Version:
        hold = self._leftovers.hold(self._policy.workspace) if self._leftovers is not None else None
        try:
            with self._parent(found, make=True) as (parent, name), _existing(parent, name) as old:
                self._check(found, old, expected)

                def note(temporary: str) -> None:
                    if hold is not None:
                        hold.note(os.path.join(os.path.dirname(found), temporary))

                def unchanged() -> bool:
                    with _existing(parent, name) as now:
                        return _is_expected(now, expected) if expected != "any" else (now is None) == (old is None)

                if not put(parent, name, data, mode, old, note=note, unchanged=unchanged):
                    raise _changed(found)
                with _existing(parent, name) as made:
                    return version_of(made) if made is not None else Version(0, len(data), 0, digest_of(data))
        finally:
            if hold is not None:
                hold.release()

    def _check(self, found: str, old: int | None, expected: Expected) -> None:
        if not _is_expected(old, expected):
            raise _changed(found)
        if old is None:
            return
        facts = os.fstat(old)
        if not stat.S_ISREG(facts.st_mode):
            raise ServerError("NOT_A_FILE", f"{found} is no regular file.")
        bound = self._policy.level != "full-access" and found not in self._policy.allowed_paths
        if facts.st_nlink > 1 and bound and "/.git/" not in found:
            raise Denied(Refusal("write", found, "linked"), self._policy, self._host)

    @contextmanager
    def _parent(self, found: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the directory of a canonical path; missing ones are made on the way when asked."""
        folder, name = os.path.split(found)
        directory, rest = self._roots.nearest(folder)
        flags = PATH_ONLY | os.O_DIRECTORY
        try:
            parent = open_strictly(rest, flags, directory=directory)
        except FileNotFoundError:
            if not make:
                raise
            parent = _make_directories(directory, rest)
        try:
            yield parent, name
        finally:
            os.close(parent)

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
                raise _told(error, path) from error
            try:
                yield found, descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def _located(self, path: str, access: Access, flags: int) -> Iterator[tuple[str, int]]:
        """Judge a path and open what it is called; once more when somebody renamed something in between."""
        descriptor, found = -1, path
        for left in reversed(range(_TRIES)):
            found = self.canonical(path, access)
            directory, rest = self._roots.nearest(found)
            try:
                descriptor = open_strictly(rest, flags, directory=directory)
                break
            except OSError as error:
                if error.errno != errno.ELOOP or not left:
                    raise _told(error, path) from error
        try:
            yield found, descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _existing(parent: int, name: str) -> Iterator[int | None]:
    """Open a file for its facts and bytes, or give None; a link in its place is a loop."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_expected(now: int | None, expected: Expected) -> bool:
    if expected == "any":
        return True
    if expected == "absent" or now is None:
        return now is None and expected == "absent"
    return same_version(version_of(now, whole=expected.digest is not None), expected)


def _make_directories(directory: int, rest: str) -> int:
    held = os.dup(directory)
    try:
        for part in rest.split("/"):
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=held)
            step = os.open(part, PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=held)
            os.close(held)
            held = step
    except BaseException:
        os.close(held)
        raise
    return held


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


def _changed(path: str) -> ServerError:
    return ServerError("FILE_CHANGED", f"{path} was changed by somebody else since it was read; read it again first.")


def _told(error: OSError, path: str) -> ServerError:
    code, text = _CODES.get(error.errno or 0, ("FILE_ERROR", "{path}: " + (error.strerror or "the disk failed") + "."))
    return ServerError(code, text.format(path=path))
