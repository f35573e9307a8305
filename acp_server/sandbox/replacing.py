"""Putting a file's bytes in place whole or not at all, in a directory that is held open (docs/sandbox.md, F-6 to F-9).

Owns the order of steps: everything is on the disk before the name leads to it. A file has no name, or one that is in
the journal, until it is whole.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Final

from acp_server.base.values import value
from acp_server.sandbox.leftovers import TEMPORARY_MARK
from acp_server.sandbox.openat import TEMPORARY

_CHUNK: Final = 1 << 20
_NEW_MODE: Final = 0o666
_NAME_BYTES: Final = 255


@value
class Version:
    """What a file was when it was read: its facts and, when it was read whole, the hash of its bytes."""

    mtime_ns: int
    size: int
    inode: int
    digest: str | None


def digest_of(data: bytes) -> str:
    """Return the hash that versions carry."""
    return blake2b(data, digest_size=16).hexdigest()


def version_of(descriptor: int, *, whole: bool = True) -> Version:
    """Return the version of an open file; its position is not moved."""
    facts = os.fstat(descriptor)
    return Version(facts.st_mtime_ns, facts.st_size, facts.st_ino, _hashed(descriptor) if whole else None)


def same_version(now: Version, expected: Version) -> bool:
    """Return whether a file is what it was: by its bytes where they are known, else by its facts."""
    if expected.digest is not None and now.digest is not None:
        return (now.size, now.digest) == (expected.size, expected.digest)
    return (now.mtime_ns, now.size, now.inode) == (expected.mtime_ns, expected.size, expected.inode)


def put(
    directory: int,
    name: str,
    data: bytes,
    mode: int | None,
    like: int | None,
    *,
    note: Callable[[str], None],
    unchanged: Callable[[], bool],
) -> bool:
    """Make `name` in an open directory lead to a file with these bytes, and return True.

    `like` is the descriptor of the file it replaces, None when there must be none; mode, owner and attributes are its.
    `note` is told each temporary name before it is made. `unchanged` is asked last; when it denies, or when a file
    has come into being meanwhile, nothing is changed and False is returned.

    Raises:
        OSError: what the disk gives; nothing is changed then.
    """
    temporary = _temporary_name(name)
    descriptor, named = _open_new(directory, temporary, note)
    try:
        _fill(descriptor, data)
        _dress(descriptor, mode, like)
        os.fsync(descriptor)
        if not unchanged():
            return False
        if like is None:
            return _link_new(directory, name, descriptor, temporary if named else None)
        if not named:
            note(temporary)
            _name(descriptor, directory, temporary)
            named = True
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        named = False
    finally:
        os.close(descriptor)
        if named:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=directory)
    _settle(directory)
    return True


def _open_new(directory: int, temporary: str, note: Callable[[str], None]) -> tuple[int, bool]:
    """Return a descriptor of an empty file, and whether it has a name."""
    if TEMPORARY:
        with suppress(OSError):
            return os.open(".", os.O_RDWR | TEMPORARY | os.O_CLOEXEC, _NEW_MODE, dir_fd=directory), False
    note(temporary)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(temporary, flags, _NEW_MODE, dir_fd=directory), True


def _fill(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _dress(descriptor: int, mode: int | None, like: int | None) -> None:
    """Give the file the owner, attributes and mode of the one that it replaces, as far as this account may."""
    if like is not None:
        facts = os.fstat(like)
        with suppress(OSError):
            os.fchown(descriptor, facts.st_uid, facts.st_gid)
        with suppress(OSError, AttributeError):
            for attribute in os.listxattr(like):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(like, attribute))
        mode = stat.S_IMODE(facts.st_mode) if mode is None else mode
    if mode is not None:
        os.fchmod(descriptor, mode)


def _link_new(directory: int, name: str, descriptor: int, temporary: str | None) -> bool:
    """Give a whole file its name unless there is one by that name."""
    try:
        if temporary is None:
            _name(descriptor, directory, name)
        else:
            os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        return False
    _settle(directory)
    return True


def _name(descriptor: int, directory: int, name: str) -> None:
    """Link an open, unnamed file to a name."""
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)


def _settle(directory: int) -> None:
    """Have the directory's names on the disk. A directory that may not be read cannot be asked for it."""
    with suppress(PermissionError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _temporary_name(name: str) -> str:
    ending = f"{TEMPORARY_MARK}{secrets.token_hex(6)}"
    kept = os.fsencode(name)[: _NAME_BYTES - len(ending) - 1]
    return f".{os.fsdecode(kept)}{ending}"


def _hashed(descriptor: int) -> str:
    found, at = blake2b(digest_size=16), 0
    while data := os.pread(descriptor, _CHUNK, at):
        found.update(data)
        at += len(data)
    return found.hexdigest()
