"""Small files of the server's own that belong to the person alone, and that several processes may change.

Owns how they change: one process after the other, each file whole or as it was, durably, readable by its owner alone.
What stands in them, and whether one that is found is fit to be read, is their owners' matter.
"""

# ruff: noqa: PTH103, PTH105, PTH108, PTH120 - pathlib is not on the start path, and keys are
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from acp_server.base.errors import ServerError

BUSY_SECONDS: Final = 2.0
"""How long another process may hold on to a file before a change of it is given up."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o600


@contextmanager
def alone(path: str, code: str) -> Iterator[None]:
    """Let no other process change the file meanwhile; its folder is made. Raise ServerError with that code.

    The lock is a file beside it, since a folder cannot be locked on every file system.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    except OSError as error:
        raise ServerError(code, f"{folder} cannot be used: {error.strerror}.") from error
    try:
        _lock(descriptor, path, code)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: str, text: str, code: str) -> None:
    """Put a whole new file in the place of the old one, which nobody sees half; raise ServerError with that code."""
    fresh = f"{path}.{os.urandom(8).hex()}"
    try:
        descriptor = os.open(fresh, _NEW, _MODE)
        try:
            os.fchmod(descriptor, _MODE)
            with os.fdopen(descriptor, "w", encoding="utf-8", closefd=False) as file:
                file.write(text)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(fresh, path)
        _keep_names(path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(fresh)
        raise ServerError(code, f"{path} cannot be written: {error.strerror}.") from error


def remove_file(path: str, code: str) -> None:
    """Take the file away, durably; one that is not there is gone. Raise ServerError with that code."""
    try:
        os.unlink(path)
        _keep_names(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ServerError(code, f"{path} cannot be removed: {error.strerror}.") from error


def _lock(descriptor: int, path: str, code: str) -> None:
    from fcntl import LOCK_EX, LOCK_NB, flock  # noqa: PLC0415 - only changes need it

    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise ServerError(code, f"Another process keeps {path} locked.") from error
            time.sleep(0.01)
        except OSError as error:
            raise ServerError(code, f"{path} cannot be locked: {error.strerror}.") from error
        else:
            return


def _keep_names(path: str) -> None:
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
