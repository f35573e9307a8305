"""The port through which tools reach files, and which versions of which files a session has seen.

Owns the values that cross the port. Refuses to know where files lie: on disk behind the fence, or in an editor's
buffers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

from acp_server.base.values import value
from acp_server.sandbox.replacing import Version, same_version
from acp_server.tools.ignore_rules import Outer
from acp_server.tools.tool import ToolContext, ToolError

FileKind: TypeAlias = Literal["file", "directory", "link", "other"]


@value
class FileChange:
    """A change that is about to be made: the canonical path, its bytes before (None for a new file) and after."""

    path: str
    before: bytes | None
    after: bytes


Keep: TypeAlias = Callable[[FileChange], Awaitable[None]]
"""Keeps what a file held, before each write. What it raises stops the write."""
Saw: TypeAlias = Callable[[str, Version], None]


@value
class FileContent:
    """Bytes of a file from some place on. `path` is canonical; the version has a hash when they are all of it."""

    path: str
    data: bytes
    size: int
    version: Version


@value
class FileFacts:
    """What stands at a path; `path` is canonical, links in it followed."""

    path: str
    kind: FileKind
    size: int
    mtime_ns: int


@value
class Entry:
    """One name in a directory; `target` is where a link leads."""

    name: str
    kind: FileKind
    size: int = 0
    target: str | None = None


@value
class Listing:
    """Names of a directory in order, and whether there are more than asked for."""

    entries: tuple[Entry, ...]
    more: bool = False


class WalkedFile(Protocol):
    """A regular file met on a walk, usable until the walk goes on."""

    @property
    def path(self) -> str:
        """Return its path relative to where the walk began, with slashes."""
        ...

    def mtime_ns(self) -> int:
        """Return when it was changed, in nanoseconds; 0 when it is gone."""
        ...

    def read(self, most: int) -> bytes | None:
        """Return its first bytes, or None when it is gone or may not be read."""
        ...


class Files(Protocol):
    """Files under one call's policy. Paths are absolute. Everything but `walk` and `readable` may take time.

    Each method raises ToolError with one of these codes: NOT_FOUND, IS_DIRECTORY, NOT_A_DIRECTORY, NOT_A_FILE (a
    device, a pipe), DENIED (with the sandbox's own marker, the fence's Denied as its cause), STALE_FILE, FILE_EXISTS,
    INVALID_PATH, PERMISSION_DENIED, LINK_LOOP, DISK_FULL, FILE_ERROR.
    """

    async def read(self, path: str, most: int, start: int = 0) -> FileContent:
        """Return at most that many bytes from `start` on."""
        ...

    async def facts(self, path: str) -> FileFacts:
        """Return what stands there."""
        ...

    async def list_dir(self, path: str, most: int) -> Listing:
        """Return the names in a directory, directories first, each by name."""
        ...

    async def check_write(self, path: str) -> str:
        """Return the canonical path of what writing would change, there or not; raise DENIED where it may not be."""
        ...

    async def write(self, path: str, data: bytes, *, expected: Version | None) -> Version:
        """Replace the file's content whole and durably; return its new version.

        With `expected` None the file must not be there (FILE_EXISTS), and missing directories are made; otherwise it
        must be in that state (STALE_FILE). Mode and links stay.
        """
        ...

    def walk(self, path: str, *, ignored: bool) -> Iterator[WalkedFile]:
        """Yield the regular files below a directory that may be read; blocks. Links are not followed.

        What .gitignore files name is left out unless `ignored`; the directories of version control always are.
        """
        ...

    def rules_above(self, path: str) -> Sequence[Outer]:
        """Return the rules of .gitignore files above a directory that count in it, the outermost first; blocks.

        They end at the top of its repository, else at the workspace or root that it lies in.
        """
        ...

    def readable(self, path: str) -> bool:
        """Return whether the policy lets this canonical path be read; touches no disk."""
        ...


class SeenFiles:
    """Which version of which file a session has seen, by canonical path.

    What was seen in an earlier life of the session counts as well: what the log keeps of it is taken in first.
    """

    __slots__ = ("_seen", "_tell")

    def __init__(self, seen: dict[str, Version] | None = None, tell: Saw | None = None) -> None:
        """`seen` is shared by the calls of one session; `tell` hears what this call sees."""
        self._seen = {} if seen is None else seen
        self._tell = tell

    def saw(self, path: str, version: Version) -> None:
        """Note that the session has seen the file in this state."""
        self._seen[path] = version
        if self._tell is not None:
            self._tell(path, version)

    def check(self, path: str, current: Version, shown: str) -> None:
        """Do nothing when the file is as the session saw it.

        Raises:
            ToolError: UNREAD_FILE, STALE_FILE.
        """
        seen = self._seen.get(path)
        if seen is None:
            raise ToolError("UNREAD_FILE", f"{shown} has not been read in this session; read it before you change it")
        if not same_version(current, seen):
            raise stale(shown)


@value
class FileAccess:
    """What the file tools of one call work with."""

    files: Files
    seen: SeenFiles
    keep: Keep


OpenAccess: TypeAlias = Callable[[ToolContext], FileAccess]
"""Gives a call its files: under its policy, with what its session has seen."""


def stale(shown: str) -> ToolError:
    """Return the error of a file that is no longer what the session saw."""
    return ToolError(
        "STALE_FILE", f"{shown} was changed since it was read; nothing was written. Read it again, then change it."
    )
