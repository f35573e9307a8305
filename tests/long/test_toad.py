"""Toad, a client that draws in a terminal, played by keys in tmux: a permission with its diff, a cancel.

`ACP_TEST_TOAD` names its program (PyPI batrachian-toad 0.6.20); tmux has to be there.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.support import launch
from tests.support.llm_script import Answer, Script
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

SECONDS = 90.0
ANSWERS: list[Answer] = [
    {"tool": "read", "args": {"path": "notes.txt"}},
    {"tool": "edit", "args": {"path": "notes.txt", "old_string": "old", "new_string": "new"}},
    {"text": "It is edited."},
    {"text": "Begun.", "hang": True},
]


class Screen:
    """Toad in a terminal of its own."""

    def __init__(self, stage: Stage, toad: str, mock: MockLlm) -> None:
        self.stage, self.socket = stage, f"toad-{os.getpid()}-{time.monotonic_ns()}"
        self.wire = stage.root / "wire.log"
        agent = shlex.join((*launch.COMMAND, "--log", str(self.wire), "--log-level", "trace"))
        project = str(stage.project)
        words = shlex.join((toad, "acp", agent, "-d", project, project))
        env = {
            **stage.environment(None, mock.environment("openai")),
            "TERM": "xterm-256color",
            "HOME": str(stage.root / "home"),
        }
        self._tmux("new-session", "-d", "-x", "120", "-y", "44", words, env=env)

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, *words], env=env, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout

    def text(self) -> str:
        return self._tmux("capture-pane", "-p")

    def see(self, words: str) -> None:
        self.until(lambda: words in self.text(), f"{words!r} on the screen")

    def until(self, test: Callable[[], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not test():
            assert time.monotonic() < end, f"{what} did not come:\n{self.text()}"
            time.sleep(0.3)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", key)
            time.sleep(0.3)

    def say(self, text: str) -> None:
        """Type a prompt of one line and send it; a key is lost while Toad is busy, so it is pressed until it counts."""
        self._tmux("send-keys", "-l", text)
        self.see(text)
        before = self.prompts()

        def sent() -> bool:
            self.press("Enter")
            time.sleep(1)
            return self.prompts() > before

        self.until(sent, "the prompt")

    def prompts(self) -> int:
        """Return how many prompts the server has had."""
        return sum(frame.get("method") == "session/prompt" for frame in self.frames())

    def frames(self) -> list[Obj]:
        """Return the frames that the server's log has of the wire."""
        found = []
        for line in self.wire.read_text("utf-8").splitlines() if self.wire.exists() else ():
            start = line.find('{"jsonrpc"')
            if start >= 0:
                found.append(json.loads(line[start:]))
        return found

    def results(self, key: str) -> list[object]:
        """Return that field of every result that has it."""
        return [frame["result"][key] for frame in self.frames() if key in (frame.get("result") or {})]

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def toad() -> str:
    program = os.environ.get("ACP_TEST_TOAD", "")
    assert Path(program).is_file(), "ACP_TEST_TOAD names no program"
    assert shutil.which("tmux"), "tmux is not here"
    return program


@pytest.fixture
def screen(tmp_path: Path, toad: str) -> Iterator[Screen]:
    with MockLlm(Script(ANSWERS)) as mock:
        made = Screen(Stage(tmp_path), toad, mock)
        try:
            yield made
        finally:
            made.close()


def test_a_story_at_a_terminal(screen: Screen) -> None:
    notes = screen.stage.project / "notes.txt"
    notes.write_text("old\n")
    screen.until(lambda: screen.results("sessionId"), "a session")
    screen.say("change my notes")
    asked = "session/request_permission"
    screen.until(lambda: any(frame.get("method") == asked for frame in screen.frames()), "a question")
    screen.see("Allow")
    diffs = [frame for frame in screen.frames() if '"diff"' in json.dumps(frame)]
    assert diffs
    screen.press("Enter")
    screen.see("It is edited.")
    assert notes.read_text() == "new\n"
    screen.say("and take your time")
    screen.see("Begun.")

    def cancelled() -> bool:
        screen.press("Escape", "Escape")
        time.sleep(1)
        return "cancelled" in screen.results("stopReason")

    screen.until(cancelled, "the end of the cancelled turn")
    assert screen.results("stopReason") == ["end_turn", "cancelled"]
