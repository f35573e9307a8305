"""A program on a screen: tmux shows it, real keys are typed, and what can be read is text."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SECONDS = 60.0
"""How long a screen may take to show something on a slow machine."""
STALL_SECONDS = 240
"""How long one command of tmux may take: a machine with much else to do stops for minutes."""


def is_here() -> bool:
    """Return whether tmux is installed."""
    return shutil.which("tmux") is not None


class Screen:
    """One tmux server of its own with one window. `close` ends it and the program."""

    def __init__(self, folder: Path, *, columns: int = 120, lines: int = 36) -> None:
        self.folder = self.socket = folder
        self.size = (str(columns), str(lines))

    def start(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.socket = self.folder / f"tmux-{uuid.uuid4().hex[:8]}"  # one that is ending takes no new window
        words = " ".join(f"{name}={shlex.quote(text)}" for name, text in env.items())
        size = ("-x", self.size[0], "-y", self.size[1])
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), f"env -i {words} {shlex.join(command)}"
        )
        self._tmux("set-option", "-s", "escape-time", "0")

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names for them (`Enter`, `C-s`, `Escape`, `g`)."""
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Type a text of one line, key by key."""
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal does."""
        subprocess.run(
            ("tmux", "-S", str(self.socket), "load-buffer", "-"), input=text.encode(), check=True, timeout=STALL_SECONDS
        )
        self._tmux("paste-buffer", "-p")

    def text(self) -> str:
        """Return what the screen shows, without blanks at the ends of its lines."""
        return self._tmux("capture-pane", "-p")

    def wait(self, *wanted: str | Callable[[str], object]) -> str:
        """Wait until the screen shows all of the texts, and return it.

        Raises:
            AssertionError: with the screen, when time is up.
        """
        end = time.monotonic() + SECONDS
        while True:
            shown = self.text()
            if all(want in shown if isinstance(want, str) else want(shown) for want in wanted):
                return shown
            if time.monotonic() > end:
                raise AssertionError(f"the screen does not show {wanted}:\n{shown}")
            time.sleep(0.05)

    def close(self) -> None:
        subprocess.run(
            ("tmux", "-S", str(self.socket), "kill-server"), capture_output=True, check=False, timeout=STALL_SECONDS
        )

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ("tmux", "-S", str(self.socket), *words), capture_output=True, text=True, check=True, timeout=STALL_SECONDS
        )
        return done.stdout
