"""Someone who uses the plugin at a terminal: what they type, what they see, and which screens are kept."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

from tests.e2e.stage import Stage, script
from tests.support.launch import COMMAND, REPOSITORY, SCRIPTED
from tests.support.terminal import SECONDS, Screen

PLUGIN = REPOSITORY / "editor-clients" / "neovim"
KEPT = REPOSITORY / "docs" / "editors" / "neovim"
KEEP = "ACP_KEEP_SCREENS"
"""Set, the screens that tests name are written to the docs."""


def lua(words: list[str]) -> str:
    """Return a list of words as Lua reads it."""
    return "{ " + ", ".join(f"[==[{word}]==]" for word in words) + " }"


class Person:
    """Neovim on a screen, with the plugin as a person installs it and nothing else."""

    def __init__(self, stage: Stage, nvim: str, screen: Screen) -> None:
        self.stage, self.nvim, self.screen = stage, nvim, screen
        self.init = stage.root / "init.lua"
        self.settings = ""
        self.model: str | None = SCRIPTED

    def start(self, *files: str) -> None:
        self.init.write_text(
            f"vim.opt.runtimepath:prepend([==[{PLUGIN}]==])\n"
            f"vim.o.swapfile = false\n"
            f"require('acp').setup({{ command = {lua(list(COMMAND))}, {self.settings} }})\n",
            "utf-8",
        )
        env = {**self.stage.environment(self.model), "TERM": "tmux-256color", "LC_ALL": "C.UTF-8"}
        env |= {f"XDG_{kind}_HOME": str(self.stage.root / "xdg" / kind.lower()) for kind in ("STATE", "DATA", "CACHE")}
        command = (self.nvim, "--clean", "-u", str(self.init), *files)
        self.screen.start(command, env, self.stage.project)
        self.screen.wait("~")

    def command(self, text: str) -> None:
        """Leave what is being written and run an Ex command."""
        self.escape()
        self.screen.type(f":{text}")
        self.screen.keys("Enter")

    def escape(self) -> None:
        """Stop writing. Another key that came at once would make one key of the two."""
        self.screen.keys("Escape")
        self.screen.wait(lambda text: "-- INSERT --" not in text)
        time.sleep(0.1)

    def open(self) -> None:
        """Open the chat and wait until the agent has opened the conversation."""
        self.command("Acp open")
        self.screen.wait("· Ask", "-- INSERT --")

    def ask(self, *lines: str) -> None:
        """Write a script into the prompt and send it; press the key again when it came while the paste was taken up."""
        last = lines[-1].split()[-1][-12:]
        self.screen.paste(script(*lines))
        self.screen.wait(lambda text: last in self.prompt(text))
        end = time.monotonic() + SECONDS
        while last in self.prompt(self.screen.text()) and time.monotonic() < end:
            self.screen.keys("C-s")
            time.sleep(1)

    @staticmethod
    def prompt(shown: str) -> str:
        """Return what a screen shows below the bar of the prompt."""
        return re.split("Enter (?:sends|queues)|ga decides", shown)[-1]

    def pid(self) -> int:
        """Return the process of the server, told by the plugin."""
        place = self.stage.root / "pid"
        self.command(f"lua vim.fn.writefile({{tostring(require('acp.hub').client():pid())}}, '{place}')")
        end = time.monotonic() + SECONDS
        while not place.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return int(place.read_text("utf-8"))

    def keep(self, name: str, shown: str) -> None:
        """Keep a screen as text in the docs, when that is asked for."""
        if os.environ.get(KEEP):
            KEPT.mkdir(parents=True, exist_ok=True)
            text = shown.replace(str(self.stage.project), "~/project").replace(sys.prefix, "~/.venv")
            (KEPT / f"{name}.txt").write_text("\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n")

    def leave(self) -> None:
        """End Neovim; the screen ends with it."""
        self.command("qa!")

    def start_again(self, *files: str) -> None:
        """End Neovim and start another one."""
        self.leave()
        self.screen.close()
        self.start(*files)

    def file(self, name: str) -> Path:
        return self.stage.project / name
