"""The disk of this machine, as the log asks for it (docs/log-format.md, clauses N-6 and W-1 to W-8).

Owns flags and modes: everything is close-on-exec, directories are 0700 and files 0600 whatever the umask allows more.
"""

# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH112, PTH116, PTH208 - system calls by name, without objects between
from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Mapping
from typing import Final

from acp_server.persistence.io_port import FileFacts, OpenMode

_COMMON: Final = os.O_CLOEXEC | os.O_NOFOLLOW
_FLAGS: Final[Mapping[OpenMode, int]] = {
    "read": os.O_RDONLY | _COMMON,
    "write": os.O_RDWR | _COMMON,
    "create": os.O_RDWR | os.O_CREAT | os.O_EXCL | _COMMON,
    "lock": os.O_RDWR | os.O_CREAT | _COMMON,
}


class PosixIo:
    """LogIo over the system's calls; a handle is a file descriptor."""

    def make_dir(self, path: str) -> bool:
        """See LogIo."""
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
            return False
        return True

    def list_dir(self, path: str) -> list[str]:
        """See LogIo."""
        return os.listdir(path)

    def facts(self, path: str) -> FileFacts:
        """See LogIo."""
        return _facts(os.stat(path))

    def handle_facts(self, handle: int) -> FileFacts:
        """See LogIo."""
        return _facts(os.fstat(handle))

    def open(self, path: str, mode: OpenMode) -> int:
        """See LogIo."""
        return os.open(path, _FLAGS[mode], 0o600)

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """See LogIo."""
        return os.pread(handle, size, offset)

    def write(self, handle: int, data: bytes, offset: int) -> int:
        """See LogIo."""
        return os.pwrite(handle, data, offset)

    def sync(self, handle: int) -> None:
        """See LogIo. On macOS only F_FULLFSYNC reaches the platter."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is None:
            os.fsync(handle)
            return
        try:
            fcntl.fcntl(handle, full)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
            os.fsync(handle)

    def truncate(self, handle: int, size: int) -> None:
        """See LogIo."""
        os.ftruncate(handle, size)

    def close(self, handle: int) -> None:
        """See LogIo."""
        os.close(handle)

    def link(self, source: str, target: str) -> None:
        """See LogIo."""
        os.link(source, target)

    def rename(self, source: str, target: str) -> None:
        """See LogIo."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """See LogIo."""
        os.unlink(path)

    def remove_dir(self, path: str) -> None:
        """See LogIo."""
        os.rmdir(path)

    def remove_tree(self, path: str) -> None:
        """See LogIo."""
        from shutil import rmtree  # noqa: PLC0415 - not for the start path

        while True:
            try:
                rmtree(path)
            except FileNotFoundError:  # somebody else removes it too
                if os.path.lexists(path):
                    continue
            return

    def sync_dir(self, path: str) -> None:
        """See LogIo."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # such a file system keeps names by itself
                raise
        finally:
            os.close(handle)

    def lock(self, handle: int) -> bool:
        """See LogIo."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _facts(result: os.stat_result) -> FileFacts:
    return FileFacts(result.st_size, result.st_ino, result.st_dev, result.st_mtime_ns, stat.S_ISDIR(result.st_mode))
