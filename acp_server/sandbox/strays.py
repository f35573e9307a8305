"""Finding and ending processes that a program without a box left behind, wherever they hid.

Owns the word in the environment by which they are known: it is passed on to whatever a program starts.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Final

MARK: Final = "ACP_SERVER_COMMAND"
"""The variable that holds the word."""
_SEARCH_ROUNDS: Final = 50


def end_strays(word: str) -> None:
    """End every living process whose environment holds the word, and what those start meanwhile."""
    for _ in range(_SEARCH_ROUNDS):
        found = _carriers(f"{MARK}={word}".encode())
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _carriers(entry: bytes) -> list[int]:
    """Return the living processes whose environment holds an entry."""
    found = []
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                    if entry in file.read().split(b"\0"):
                        found.append(int(name))
    return found
