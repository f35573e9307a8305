"""Where a provider's key comes from: a variable, a file that its owner alone may read, or a command.

Owns looking for it. A key is never logged, never told, and never taken from a file of a workspace.
"""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from acp_server.app.credentials import stored_keys
from acp_server.app.default_rows import ROWS
from acp_server.base.values import value

COMMAND_SECONDS: Final = 10.0
KEPT_SECONDS: Final = 300.0
"""How long the output of a command is used before the command runs again."""
LARGEST: Final = 16 * 1024
PROVIDER_VARIABLES: Final = frozenset(
    source["env"]
    for row in ROWS
    if isinstance(source := row.config.get("key"), Mapping) and isinstance(source.get("env"), str)
)
"""Variables that hold the keys of the shipped providers: no process that is started gets them."""


@value
class KeySource:
    """How to get a key, and how a person would call the place of it. `read` may block when `slow`."""

    read: Callable[[], str | None]
    there: Callable[[], bool]
    name: str
    missing: str
    slow: bool = False


def key_source(config: Mapping[str, Any] | None, environment: Mapping[str, str]) -> KeySource | None:
    """Return the source that a config names, or None when the server wants no key."""
    if config is None:
        return None
    if "env" in config:
        variable = config["env"]

        stored = stored_keys(environment)

        def from_variable() -> str | None:
            return environment.get(variable, "").strip() or stored(variable)

        return KeySource(from_variable, lambda: from_variable() is not None, variable, f"Set {variable}")
    if "file" in config:
        path = config["file"]
        missing = f"Put the key into {path}, a file that you alone may read,"
        return KeySource(lambda: _from_file(path), lambda: _from_file(path) is not None, path, missing)
    command = _Command(tuple(config["command"]), environment)
    program = command.words[0]
    return KeySource(command.key, lambda: True, program, f"Let the command {program} print the key", slow=True)


def is_private(path: str) -> bool:
    """Return whether the file is a plain one that its owner alone may read or write."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - pathlib is not on the start path
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and not facts.st_mode & 0o077 and facts.st_uid in (os.getuid(), 0)


def _from_file(path: str) -> str | None:
    if not is_private(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - likewise
            return _first_line(file.read(LARGEST))
    except (OSError, UnicodeDecodeError):
        return None


def _first_line(text: str) -> str | None:
    return next((line.strip() for line in text.splitlines() if line.strip()), None)


class _Command:
    """A program that prints the key; run by whoever asks, once at a time."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.words = words
        self._environment = environment
        self._lock = threading.Lock()
        self._key: str | None = None
        self._since = 0.0

    def key(self) -> str | None:
        """Return the first line that the program prints, or None when it fails; may block for COMMAND_SECONDS."""
        with self._lock:
            if self._key is None or time.monotonic() - self._since > KEPT_SECONDS:
                self._key, self._since = self._run(), time.monotonic()
            return self._key

    def _run(self) -> str | None:
        try:
            done = subprocess.run(  # noqa: S603 - the person's own settings name the program
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: text for name, text in self._environment.items() if name not in PROVIDER_VARIABLES},
                timeout=COMMAND_SECONDS,
                check=True,
                text=True,
            )
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return None
        return _first_line(done.stdout[:LARGEST])
