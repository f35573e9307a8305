"""Noticing that a file has changed, in a thread of its own.

Owns the thread. It is a hint: whoever is called looks at the file itself, and without the hint it looks when a turn
begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress


class SettingsWatch:
    """Calls `changed` from its thread after each change of the file `name` in `folder`."""

    def __init__(self, folder: str, name: str, changed: Callable[[], object]) -> None:
        self._folder = folder
        self._name = name
        self._changed = changed
        self._end = threading.Event()

    def start(self) -> None:
        """Begin to watch; may be called once."""
        threading.Thread(target=self._run, name="settings", daemon=True).start()

    def stop(self) -> None:
        """End the watch soon."""
        self._end.set()

    def _run(self) -> None:
        from watchfiles import watch  # noqa: PLC0415 - it is loaded in this thread, where nobody waits for it

        def wanted(_change: object, path: str) -> bool:
            return path.rpartition("/")[2] == self._name

        with suppress(OSError, RuntimeError):  # no watch, no hint; RuntimeError: the loop has ended
            for _ in watch(
                self._folder, watch_filter=wanted, stop_event=self._end, recursive=False, raise_interrupt=False
            ):
                self._changed()
