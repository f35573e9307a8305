"""A file made whole or not at all, for what a person takes out of a store."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from typing import Final

from acp_server.base.errors import ServerError

_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def write_file(path: str, content: bytes, *, force: bool) -> None:
    """Make a file of 0600 that holds the bytes, in one step; what is there is replaced only by `force`.

    Raises:
        ServerError: FILE_EXISTS, FILE_FAILED. Nothing has changed then.
    """
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - the name stays as the person gave it
    try:
        handle, temporary = tempfile.mkstemp(prefix=".acp-server-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _publish(temporary, path, force=force)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - as above
    except OSError as error:
        words = error.strerror or "the disk failed"
        raise ServerError("FILE_FAILED", f"Cannot write {path}: {words[:1].lower()}{words[1:]}.") from error


def _publish(temporary: str, path: str, *, force: bool) -> None:
    if not force:
        try:
            os.link(temporary, path)  # unlike a rename it never replaces
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return
        refuse_existing(path)
    os.replace(temporary, path)  # noqa: PTH105 - as above


def refuse_existing(path: str) -> None:
    """Raise ServerError FILE_EXISTS when something has that name."""
    if os.path.lexists(path):
        raise _exists(path)


def _exists(path: str) -> ServerError:
    return ServerError("FILE_EXISTS", f"{path} exists already.")
