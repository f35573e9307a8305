"""The diagnostic log: silent unless a file is named. Never on stdout, and on stderr only what ends the process."""

from __future__ import annotations

import logging
import os
import time
import traceback
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["error", "info", "debug", "trace"]
LEVELS: Final[tuple[Level, ...]] = ("error", "info", "debug", "trace")


class LogFile:
    """Appends lines to one file (mode 0600), or drops them when there is none.

    `trace` adds every frame of the wire, with secrets masked by the caller.
    """

    def __init__(self, path: str | None, level: Level) -> None:
        self._named = path is not None
        self._fd = None if path is None else _opened(path)
        self._shown = LEVELS[: LEVELS.index(level) + 1]

    def turn_to(self, path: str | None, level: Level | None) -> str | None:
        """Write to that file from here on, unless the command line named one; return why that fails, or None."""
        if self._named:
            return None
        self.close()
        self._shown = LEVELS[: LEVELS.index(level or "info") + 1]
        try:
            self._fd = None if path is None else _opened(path)
        except OSError as error:
            return f"The log {path} cannot be written: {error.strerror}."
        return None

    def shows(self, level: Level) -> bool:
        """Return whether lines of that level are written."""
        return self._fd is not None and level in self._shown

    def write(self, level: Level, text: str) -> None:
        """Write one line; line ends inside the text are kept visible as indented lines."""
        if self._fd is None or level not in self._shown:
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} {os.getpid()} {level} " + text.replace("\n", "\n  ") + "\n"
        os.write(self._fd, line.encode("utf-8", "replace"))

    def report(self, error: BaseException) -> None:
        """Write a failure with its traceback, which stays in this file."""
        self.write("error", "".join(traceback.format_exception(error)).rstrip())

    def note(self, text: str, error: BaseException | None) -> None:
        """Write what no answer to a client may say: a line, and the failure behind it where there is one."""
        self.write("debug" if error is None else "error", text)
        if error is not None:
            self.report(error)

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class LibraryLog(logging.Handler):
    """Takes what libraries log, so that nothing of it reaches stderr."""

    def __init__(self, log: LogFile) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        level: Level = "error" if record.levelno >= logging.WARNING else "debug"
        self._log.write(level, f"{record.name}: {record.getMessage()}")
        if record.exc_info and record.exc_info[1] is not None:
            self._log.report(record.exc_info[1])


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
