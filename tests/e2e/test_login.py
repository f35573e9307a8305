"""Logging in and out: by the command in a terminal and over a pipe, and by the protocol (clauses A-01 to A-17)."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sessions import restarted
from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Script
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

KEY = "sk-proj-PLANTED0123456789abcdef"
IN_A_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)  # what a shell starts in the background ignores interrupts
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "acp_server", *sys.argv[1:]])
"""


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def command(stage: Stage, *words: str, given: str = "", more: dict[str, str] | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "acp_server", *words],
        input=given,
        env=stage.environment(None, more),
        cwd=stage.root,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, stage: Stage, *words: str) -> None:
        self.seen = b""
        self._fd, inner = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, *words],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=stage.environment(None),
            cwd=stage.root,
            start_new_session=True,
        )
        os.close(inner)

    def read_until(self, words: bytes, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while words not in self.seen and time.monotonic() < end:
            if select.select([self._fd], [], [], 0.1)[0]:
                self.seen += os.read(self._fd, 4096)
        assert words in self.seen

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def ends_within(self, seconds: float) -> bool:
        """Read on until the process has ended or time is up; return whether it has ended."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self._rest()
        return self.process.poll() is not None

    def end(self) -> int:
        """Return the exit code of a process that ends by itself."""
        self.ends_within(20)
        self._rest()
        os.close(self._fd)
        return self.process.wait(1)

    def _rest(self) -> None:
        while select.select([self._fd], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self._fd, 4096)
            except OSError:  # the other side of the terminal is closed
                return


def credentials(stage: Stage) -> Path:
    return stage.state / "credentials.json"


@pytest.mark.parametrize("words", [("login",), ("acp", "--log", "acp.log", "--login"), ("--login",)])
def test_a_login_in_a_terminal_asks_shows_nothing_and_ends_by_itself(stage: Stage, words: tuple[str, ...]) -> None:
    terminal = Terminal(stage, *words)
    terminal.read_until(b"Provider (number or name): ")
    terminal.type("openai\n")
    terminal.read_until(b"(it is not shown): ")
    terminal.type(f"{KEY}\n")
    assert terminal.end() == 0
    assert KEY.encode() not in terminal.seen
    assert b"is stored in" in terminal.seen
    assert stat.S_IMODE(credentials(stage).stat().st_mode) == 0o600
    assert KEY in credentials(stage).read_text()


def test_a_login_can_be_broken_off(stage: Stage) -> None:
    terminal = Terminal(stage, "login", "openai")
    terminal.read_until(b"(it is not shown): ")
    for _ in range(3):
        terminal.type("\x03")  # one that comes just before the read begins is not seen by it
        if terminal.ends_within(6):
            break
    assert terminal.end() == 130
    assert not credentials(stage).exists()


def test_a_login_over_a_pipe(stage: Stage) -> None:
    code, said, wrong = command(stage, "login", "openai-responses", given=f"{KEY}\nmore\n")
    assert (code, wrong) == (0, "")
    assert said == f"The key for openai-responses is stored in {credentials(stage)}.\n"
    code, said, _ = command(stage, "login", "openai", given=f"{KEY}\n", more={"OPENAI_API_KEY": "other"})
    assert (code, said.splitlines()[1]) == (0, "OPENAI_API_KEY is set too, and wins over it.")
    assert command(stage, "logout", "openai")[:2] == (0, "Taken away: OPENAI_API_KEY.\n")
    assert command(stage, "logout")[:2] == (0, "No such key was stored.\n")


@pytest.mark.parametrize(
    ("words", "given", "told"),
    [
        (("login",), "k\n", "Name the provider: acp-server login PROVIDER."),
        (("login", "nobody"), "k\n", "There is no provider 'nobody'; known are deepseek,"),
        (("login", "openai"), "", "A key has no blanks"),
        (("login", "openai"), "two words\n", "A key has no blanks"),
        (("login", "openai"), "\x1b[2J\n", "A key has no blanks"),
        (("logout", "nobody"), "", "There is no provider 'nobody'"),
    ],
)
def test_what_cannot_be_stored_is_told_in_one_line(stage: Stage, words: tuple[str, ...], given: str, told: str) -> None:
    code, said, wrong = command(stage, *words, given=given)
    assert (code, said, wrong.count("\n")) == (1, "", 1)
    assert wrong.startswith(f"acp-server: {told}")
    assert not credentials(stage).exists()


def test_a_login_counts_for_a_server_that_runs(stage: Stage, mock: MockLlm) -> None:
    mock.script = Script([{"text": "There."}])
    stage.secrets.append(KEY)
    client = stage.client(None, {"OPENAI_BASE_URL": mock.url})
    hello = client.initialize({"auth": {"terminal": True}})
    assert [method["id"] for method in hello["authMethods"]] == ["provider-key", "login", "demo"]
    refusal = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert (refusal["code"], refusal["data"]["authMethods"]) == (-32000, hello["authMethods"])
    assert client.error("authenticate", {"methodId": "login"})["code"] == -32602
    assert command(stage, "login", "openai", given=f"{KEY}\n")[0] == 0
    assert client.result("authenticate", {"methodId": "provider-key"}) == {}
    answer, turn = client.prompt(client.new_session(stage.project), "go")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "There.")
    assert mock.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_logout_ends_turns_takes_keys_away_and_keeps_history(stage: Stage, mock: MockLlm) -> None:
    mock.script = Script([{"text": "Begun.", "hang": True}, {"text": "Again."}])
    stage.secrets.append(KEY)
    assert command(stage, "login", "openai", given=f"{KEY}\n")[0] == 0
    client, session = stage.open(None, {"OPENAI_BASE_URL": mock.url})
    ident = client.ask(session, "go")
    client.wait_update("agent_message_chunk")
    assert client.result("logout", {}) == {}
    assert client.answer(ident)["result"] == {"stopReason": "cancelled"}
    assert not credentials(stage).exists()
    assert client.result("logout", {}) == {}
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "Once more."}]}
    assert client.error("session/prompt", prompt)["code"] == -32000
    assert client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})["code"] == -32000
    assert [entry["sessionId"] for entry in client.result("session/list", {})["sessions"]] == [session]
    assert command(stage, "login", "openai", given=f"{KEY}\n")[0] == 0
    assert client.result("authenticate", {"methodId": "provider-key"}) == {}
    answer, turn = client.prompt(session, "Once more.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_what_is_stored_can_be_read_without_a_key(stage: Stage, mock: MockLlm, method: str) -> None:
    mock.script = Script([{"text": "Before."}, {"text": "After."}])
    client, session = stage.open(None, mock.environment("openai"))
    client.prompt(session, "go")
    client = restarted(stage, None)
    shown, after = load_by(client, method, session, stage.project)
    assert shown == ("Before." if method == "session/load" else "")
    refusal = client.answer(client.ask(session, "again"))["error"]
    assert (refusal["code"], [one["id"] for one in refusal["data"]["authMethods"]][:1]) == (-32000, ["provider-key"])
    assert after["configOptions"][1]["currentValue"] == "openai/mock"
    for refused, more in (("session/new", {}), ("_acp_server/session/fork", {"sessionId": session})):
        assert client.error(refused, {"cwd": str(stage.project), "mcpServers": [], **more})["code"] == -32000
    assert client.result("session/close", {"sessionId": session}) == {}
    assert client.agent.end() is None
    client = stage.client(None, mock.environment("openai"))
    client.initialize()
    assert load_by(client, "session/load", session, stage.project)[0] == "Before."
    answer, turn = client.prompt(session, "again")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "After.")


def load_by(client: Client, method: str, session: str, project: Path) -> tuple[str, Obj]:
    """Open a stored session; return what was shown of the answers, and the result."""
    before = len(client.trace.frames)
    result = client.result(method, {"sessionId": session, "cwd": str(project), "mcpServers": []})
    updates = [frame.update() for frame in client.trace.frames[before:]]
    return "".join(u.text for u in updates if u is not None and u.kind == "agent_message_chunk"), result


def test_a_session_that_was_loaded_without_a_key_goes_on_after_a_login(stage: Stage, mock: MockLlm) -> None:
    mock.script = Script([{"text": "Before."}, {"text": "After."}])
    stage.secrets.append(KEY)
    client, session = stage.open(None, mock.environment("openai"))
    client.prompt(session, "go")
    client.result("session/close", {"sessionId": session})
    assert client.result("logout", {}) == {}
    assert load_by(client, "session/load", session, stage.project)[0] == "Before."
    assert client.answer(client.ask(session, "again"))["error"]["code"] == -32000
    assert client.result("authenticate", {"methodId": "provider-key"}) == {}
    answer, turn = client.prompt(session, "again")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "After.")


def test_a_logout_sets_a_key_of_the_environment_aside(stage: Stage, mock: MockLlm) -> None:
    client, _ = stage.open(None, mock.environment("openai"))
    assert client.result("logout", {}) == {}
    assert client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})["code"] == -32000
    assert client.result("authenticate", {"methodId": "provider-key"}) == {}
    client.new_session(stage.project)


def test_stored_keys_that_others_may_read_are_not_used_and_that_is_told(stage: Stage) -> None:
    assert command(stage, "login", "openai", given=f"{KEY}\n")[0] == 0
    credentials(stage).chmod(0o644)
    client = stage.client(None)
    client.initialize()
    refusal = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert f"chmod 600 {credentials(stage)}" in refusal["data"]["details"]
