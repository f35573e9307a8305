"""Bytes beside a log, named by their content (docs/log-format.md, clauses G-1 to G-5). Blocking.

Owns their durability and the check on the way back. Which events point at them is not its matter.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from acp_server.persistence.attachment_id import attachment_id, is_attachment_id
from acp_server.persistence.disk_errors import disk_error, poisoned
from acp_server.persistence.io_port import LogIo, read_all, write_all
from acp_server.persistence.long_values import Fetch, NotBeside
from acp_server.persistence.paths import ATTACHMENTS_NAME
from acp_server.persistence.port import PersistenceError

_LOST: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO})
"""What a system says of a file that is gone, is no file or cannot be read from its disk any more."""


def put_attachments(io: LogIo, directory: str, contents: Mapping[str, bytes]) -> None:
    """Keep bytes durably under their ids; the session's directory exists. Bytes that are there are not written again.

    Raises:
        PersistenceError: DISK_FULL, DISK_FAILED, SESSION_READ_ONLY; DISK_POISONED when the names could not be synced,
            since a second sync of them would prove nothing.
    """
    folder = f"{directory}/{ATTACHMENTS_NAME}"
    try:
        io.make_dir(folder)
        for ident, content in contents.items():
            if not _is_whole(io, f"{folder}/{ident}", ident):
                _write(io, f"{folder}/{ident}", content)
    except OSError as error:
        raise disk_error(error, folder) from error
    try:
        _sync_names(io, directory, folder)
    except OSError as error:
        words = error.strerror or "the disk failed"
        raise poisoned(folder, f"The disk did not confirm a write to {folder} ({words})") from error


def _sync_names(io: LogIo, directory: str, folder: str) -> None:
    io.sync_dir(folder)
    io.sync_dir(directory)


def get_attachment(io: LogIo, directory: str, ident: str) -> bytes:
    """Return the bytes of an id, checked.

    Raises:
        PersistenceError: ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT, DISK_FAILED.
    """
    if not is_attachment_id(ident):
        raise PersistenceError("ATTACHMENT_NOT_FOUND", "There is no attachment of that id.")
    path = f"{directory}/{ATTACHMENTS_NAME}/{ident}"
    try:
        content = read_all(io, path)
    except FileNotFoundError:
        raise PersistenceError("ATTACHMENT_NOT_FOUND", f"The attachment {ident} is not stored.") from None
    except OSError as error:
        if error.errno not in _LOST:
            raise disk_error(error, path) from error
        message = f"The attachment {path} cannot be read."
        raise PersistenceError("ATTACHMENT_CORRUPT", message, {"file": path}) from error
    if attachment_id(content) != ident:
        raise PersistenceError("ATTACHMENT_CORRUPT", f"The attachment {path} is damaged.", {"file": path})
    return content


def fetch_from(io: LogIo, directory: str) -> Fetch:
    """Return what reads bytes beside a log by id and size, checking both.

    It raises NotBeside when they are missing or others, and PersistenceError (DISK_FAILED, SESSION_READ_ONLY) when the
    system refuses to read them, which says nothing about them.
    """

    def fetch(ident: str, size: int) -> bytes:
        name = f"{ATTACHMENTS_NAME}/{ident}"
        path = f"{directory}/{name}"
        try:
            found = io.facts(path)
            if found.is_dir or found.size != size:
                raise NotBeside(f"{name} is damaged")
            content = read_all(io, path)
        except OSError as error:
            if error.errno not in _LOST:
                raise disk_error(error, path) from error
            words = "is missing" if error.errno == errno.ENOENT else "cannot be read"
            raise NotBeside(f"{name} {words}") from None
        if attachment_id(content) != ident:
            raise NotBeside(f"{name} is damaged")
        return content

    return fetch


def copy_attachments(io: LogIo, source: str, target: str) -> list[str]:
    """Give a child every sound attachment of its parent, durably, and return their ids.

    Each becomes another name of the same file where that is possible, else a copy. What is damaged stays behind.

    Raises:
        OSError: the disk refused.
    """
    names = [name for name in _names(io, source) if _is_whole(io, f"{source}/{ATTACHMENTS_NAME}/{name}", name)]
    if not names:
        return []
    folder = f"{target}/{ATTACHMENTS_NAME}"
    io.make_dir(folder)
    for name in names:
        _copy(io, f"{source}/{ATTACHMENTS_NAME}/{name}", f"{folder}/{name}")
    _sync_names(io, target, folder)
    return names


def _copy(io: LogIo, source: str, target: str) -> None:
    with suppress(FileNotFoundError):
        io.unlink(target)
    try:
        io.link(source, target)
    except OSError:
        _write(io, target, read_all(io, source))


def stored_attachments(io: LogIo, directory: str) -> list[str]:
    """Return the ids of what lies beside a log, unchecked, in no order.

    Raises:
        PersistenceError: DISK_FAILED, SESSION_READ_ONLY (permission).
    """
    try:
        return _names(io, directory)
    except OSError as error:
        raise disk_error(error, f"{directory}/{ATTACHMENTS_NAME}") from error


def _names(io: LogIo, directory: str) -> list[str]:
    try:
        return [name for name in io.list_dir(f"{directory}/{ATTACHMENTS_NAME}") if is_attachment_id(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_whole(io: LogIo, path: str, ident: str) -> bool:
    """Return whether the bytes are there; a name stands for synced bytes only, whoever gave it."""
    try:
        return attachment_id(read_all(io, path)) == ident
    except OSError:
        return False


def _write(io: LogIo, path: str, content: bytes) -> None:
    """Make the file with all of its bytes durable; its name is not, before its directory is synced."""
    temporary = f"{path}.tmp"
    with suppress(FileNotFoundError):
        io.unlink(temporary)
    handle = io.open(temporary, "create")
    try:
        write_all(io, handle, content, 0)
        io.sync(handle)
    except OSError:
        io.unlink(temporary)
        raise
    finally:
        io.close(handle)
    io.rename(temporary, path)
