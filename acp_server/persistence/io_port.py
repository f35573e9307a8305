"""What the log asks of a disk, as a protocol: the real one is `posix_io`, the tests bring one that loses power.

Every failure is an OSError with an errno. Paths are absolute. Nothing here is asynchronous: callers run it in a worker.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

OpenMode: TypeAlias = Literal["read", "write", "create", "lock"]


class FileFacts(NamedTuple):
    """Facts of a file or directory at one moment; `mtime_ns` in nanoseconds since the epoch."""

    size: int
    inode: int
    device: int
    mtime_ns: int
    is_dir: bool


class LogIo(Protocol):
    """Files and directories. A handle is a small number that stays valid until `close`."""

    def make_dir(self, path: str) -> bool:
        """Make a directory that only its owner may enter; return False when it exists."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a directory, in no order."""
        ...

    def facts(self, path: str) -> FileFacts:
        """Return the facts of a path; FileNotFoundError when there is none."""
        ...

    def handle_facts(self, handle: int) -> FileFacts:
        """Return the facts of an open file, whatever its name is by then."""
        ...

    def open(self, path: str, mode: OpenMode) -> int:
        """Open a file: to read; to write; made anew and refused when it exists (0600); or made when missing (lock)."""
        ...

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """Return up to `size` bytes; fewer only at the end of the file."""
        ...

    def write(self, handle: int, data: bytes, offset: int) -> int:
        """Write some of the bytes at the offset and return how many."""
        ...

    def sync(self, handle: int) -> None:
        """Return once the file's bytes and length are on stable storage."""
        ...

    def truncate(self, handle: int, size: int) -> None:
        """Cut the file."""
        ...

    def close(self, handle: int) -> None:
        """Give the handle back, and with it a lock."""
        ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; FileExistsError instead of replacing."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory, replacing a file."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a file's name."""
        ...

    def remove_dir(self, path: str) -> None:
        """Remove an empty directory."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all that is in it, following no link; one that is gone is removed."""
        ...

    def sync_dir(self, path: str) -> None:
        """Return once the directory's names are on stable storage."""
        ...

    def lock(self, handle: int) -> bool:
        """Take the file's advisory lock without waiting; return False while somebody else has it."""
        ...


def write_all(io: LogIo, handle: int, data: bytes, offset: int) -> None:
    """Write every byte, however few a call takes; raises OSError."""
    written = io.write(handle, data, offset)
    while written < len(data):
        written += io.write(handle, data[written:], offset + written)


def read_all(io: LogIo, path: str, offset: int = 0) -> bytes:
    """Return a file's bytes from `offset` to its end; raises OSError."""
    handle = io.open(path, "read")
    try:
        size = io.handle_facts(handle).size - offset
        parts = [io.read(handle, size, offset)] if size > 0 else []
        while size > sum(map(len, parts)) and parts[-1]:
            have = sum(map(len, parts))
            parts.append(io.read(handle, size - have, offset + have))
        return b"".join(parts)
    finally:
        io.close(handle)
