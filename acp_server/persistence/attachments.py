"""Bytes beside a log, named by their content (docs/log-format.md, clauses G-1 to G-4). Blocking.

Owns their durability and the check on the way back. Which events point at them is not its matter.
"""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from typing import Final

from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.io_port import LogIo, read_all, write_all
from acp_server.persistence.paths import ATTACHMENTS_NAME
from acp_server.persistence.port import PersistenceError

_ID: Final = re.compile(r"sha256-[0-9a-f]{64}")


def attachment_id(content: bytes) -> str:
    """Return the id of these bytes: `sha256-` and 64 hex digits."""
    return f"sha256-{sha256(content).hexdigest()}"


def put_attachment(io: LogIo, directory: str, content: bytes) -> str:
    """Keep the bytes durably and return their id; the session's directory exists. Once is enough for the same bytes.

    Raises:
        PersistenceError: DISK_FULL, DISK_FAILED, SESSION_READ_ONLY.
    """
    ident = attachment_id(content)
    folder = f"{directory}/{ATTACHMENTS_NAME}"
    path = f"{folder}/{ident}"
    try:
        if io.make_dir(folder):
            io.sync_dir(directory)
        if _is_whole(io, path, ident):
            _sync(io, folder, path)
        else:
            _write(io, folder, path, content)
    except OSError as error:
        raise disk_error(error, path) from error
    return ident


def get_attachment(io: LogIo, directory: str, ident: str) -> bytes:
    """Return the bytes of an id, checked.

    Raises:
        PersistenceError: ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT, DISK_FAILED.
    """
    if not _ID.fullmatch(ident):
        raise PersistenceError("ATTACHMENT_NOT_FOUND", "There is no attachment of that id.")
    path = f"{directory}/{ATTACHMENTS_NAME}/{ident}"
    try:
        content = read_all(io, path)
    except FileNotFoundError:
        raise PersistenceError("ATTACHMENT_NOT_FOUND", f"The attachment {ident} is not stored.") from None
    except OSError as error:
        raise disk_error(error, path) from error
    if attachment_id(content) != ident:
        raise PersistenceError("ATTACHMENT_CORRUPT", f"The attachment {path} is damaged.", {"file": path})
    return content


def copy_attachments(io: LogIo, source: str, target: str) -> None:
    """Give a child every attachment of its parent: as another name of the same file, or as a copy.

    Raises:
        OSError: the disk refused.
    """
    try:
        names = [name for name in io.list_dir(f"{source}/{ATTACHMENTS_NAME}") if _ID.fullmatch(name)]
    except FileNotFoundError:
        return
    folder = f"{target}/{ATTACHMENTS_NAME}"
    io.make_dir(folder)
    for name in names:
        path = f"{folder}/{name}"
        try:
            io.link(f"{source}/{ATTACHMENTS_NAME}/{name}", path)
        except FileExistsError:
            continue
        except OSError:
            _write(io, folder, path, read_all(io, f"{source}/{ATTACHMENTS_NAME}/{name}"))
    io.sync_dir(folder)
    io.sync_dir(target)


def _is_whole(io: LogIo, path: str, ident: str) -> bool:
    try:
        return attachment_id(read_all(io, path)) == ident
    except FileNotFoundError:
        return False


def _sync(io: LogIo, folder: str, path: str) -> None:
    """Make sure of bytes that a killed process may have left unsynced."""
    handle = io.open(path, "write")
    try:
        io.sync(handle)
    finally:
        io.close(handle)
    io.sync_dir(folder)


def _write(io: LogIo, folder: str, path: str, content: bytes) -> None:
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
    io.sync_dir(folder)
