"""Commands in terminals of the editor, and the sandbox's own drawn as one (docs/protocol.md, TM-01 to TM-11)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from tests.e2e.sessions import load
from tests.e2e.stage import Stage, stop_reason
from tests.e2e.test_tools import Play, bash, choosing, shown, silent
from tests.support.client import METHOD_NOT_FOUND
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

METHODS = [f"terminal/{name}" for name in ("create", "output", "wait_for_exit", "kill", "release")]
REASON = "It would run in a terminal of the editor, outside of the sandbox."


class Terminals:
    """An editor's terminals; `joined` gives program and arguments to a shell as some editors do."""

    started: ClassVar[list[subprocess.Popen[bytes]]] = []

    def __init__(self, play: Play, *, joined: bool = False) -> None:
        self.play, self.joined = play, joined
        self.open: dict[str, subprocess.Popen[bytes]] = {}
        self.created: list[Obj] = []
        self.calls: list[str] = []
        self.broken: dict[str, Obj | None] = {}
        play.client.answerers |= dict.fromkeys(METHODS, self.answer)

    def answer(self, request: Obj) -> Obj | None:
        name, params = request["method"].removeprefix("terminal/"), request["params"]
        self.calls.append(name)
        if name in self.broken:
            if name in ("kill", "release") and params["terminalId"] in self.open:
                end(self.open[params["terminalId"]])
            return self.broken[name]
        if name == "create":
            return self.create(params)
        process = self.open[params["terminalId"]]
        if name == "wait_for_exit":
            threading.Thread(target=self.wait, args=(request["id"], process), daemon=True).start()
            return None
        if name == "output":
            return {"result": {"output": self.logs(params["terminalId"]).read_text(), "truncated": False}}
        end(process)
        return {"result": {}}

    def logs(self, ident: str) -> Path:
        return self.play.stage.root / f"{ident}.out"

    def create(self, params: Obj) -> Obj:
        self.created.append(params)
        ident = f"term-{len(self.created)}"
        words = [params["command"], *params.get("args", [])]
        command: str | list[str] = " ".join(words) if self.joined else words
        with self.logs(ident).open("wb") as out:
            self.open[ident] = subprocess.Popen(
                command,
                shell=self.joined,
                cwd=params["cwd"],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.started.append(self.open[ident])
        return {"result": {"terminalId": ident}}

    def wait(self, ident: int, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        status = {"exitCode": code, "signal": None} if code >= 0 else {"exitCode": None, "signal": "SIGKILL"}
        with suppress(OSError, ValueError):  # the agent may be gone
            self.play.client.agent.send(json.dumps({"jsonrpc": "2.0", "id": ident, "result": status}).encode())

    def released(self) -> bool:
        """Wait until each terminal was given back; return whether it was, once."""
        count = len(self.created)
        self.play.client.trace.wait(lambda: self.calls.count("release") >= count, 15)
        return self.calls.count("release") == count


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    stage.state.mkdir(exist_ok=True)
    (stage.state / "settings.toml").write_text('shell = "editor"\n')
    with MockLlm() as mock:
        made = Play(stage, mock)
        made.person(choosing("allow-once"))
        made.client.initialize({"terminal": True})
        yield made
        for process in Terminals.started:
            end(process)
            process.wait()
        Terminals.started.clear()


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("command", ["printf one.two", "cd sub && echo 'a  \"b\" $((1+1))' | cat; pwd; exit 3"])
def test_every_editor_runs_the_very_command(play: Play, command: str, joined: bool) -> None:
    (play.stage.project / "sub").mkdir()
    terminals = Terminals(play, joined=joined)
    expected = subprocess.run(["bash", "-c", command], capture_output=True, cwd=play.stage.project, check=False)
    stopped, (card,) = play.run(bash(command), {"text": "ok"})
    told = f"{expected.stdout.decode().rstrip()}\n[exit code {expected.returncode}]"
    assert (stopped, card.status, play.results()) == ("end_turn", "completed", [told])
    assert card.fields["content"] == [{"type": "terminal", "terminalId": "term-1"}]
    assert (terminals.released(), terminals.calls) == (True, ["create", "wait_for_exit", "output", "release"])
    (created,) = terminals.created
    assert (created["sessionId"], created["cwd"]) == (play.session, str(play.stage.project))
    assert [word for word in created["args"] if " " in word] == []
    assert list((play.stage.root / "tmp").iterdir()) == []


def test_each_command_is_asked_and_the_question_says_where_it_runs(play: Play) -> None:
    terminals = Terminals(play)
    play.mode("auto")
    play.run(bash("ls"), bash("ls"))
    asked = [q["params"] for q in play.client.questions if q["method"] == "session/request_permission"]
    assert [params["toolCall"]["rawInput"]["reason"] for params in asked] == [REASON] * 2
    assert [[option["kind"] for option in params["options"]] for params in asked] == [["allow_once", "reject_once"]] * 2
    play.person(choosing("reject-once"))
    _, (card,) = play.run(bash("touch x"))
    assert (card.status, len(terminals.created)) == ("failed", 2)


def test_plan_stays_in_the_sandbox(play: Play) -> None:
    terminals = Terminals(play)
    play.mode("plan")
    play.run(bash("ls"))
    assert (terminals.calls, play.client.questions) == ([], [])


def test_without_terminals_the_sandbox_runs_it(play: Play) -> None:
    terminals = Terminals(play)
    play.client.initialize({"terminal": False})
    play.mode("auto")
    _, (card,) = play.run(bash("echo hi"), {"text": "ok"})
    assert (terminals.calls, card.status, shown(card)) == ([], "completed", "hi\n[exit code 0]")


@pytest.mark.parametrize("kill", [{"result": {}}, METHOD_NOT_FOUND, None])
def test_a_command_that_takes_too_long_is_killed_and_given_back(play: Play, kill: Obj | None) -> None:
    terminals = Terminals(play)
    terminals.broken = {"kill": kill}
    command = bash("echo ready; sleep 600")
    command["args"]["timeout_seconds"] = 1
    _, (card,) = play.run(command, {"text": "ok"})
    assert (card.status, play.results()[0].endswith("\n[stopped after 1 s]")) == ("failed", True)
    assert terminals.released()
    assert terminals.calls[2] == "kill"


def test_cancelling_kills_and_gives_back(play: Play) -> None:
    terminals = Terminals(play)
    play.script(bash("echo ready; sleep 600"))
    ident = play.client.ask(play.session, "go")
    play.client.trace.wait(lambda: "wait_for_exit" in terminals.calls, 15)
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    assert (terminals.released(), terminals.calls[2:]) == (True, ["kill", "output", "release"])
    assert play.run(bash("true"), {"text": "ok"})[0] == "end_turn"


def test_a_terminal_that_comes_after_the_cancellation_is_given_back(play: Play) -> None:
    terminals = Terminals(play)
    terminals.broken = {"create": None}
    play.script(bash("sleep 600"))
    ident = play.client.ask(play.session, "go")
    play.client.trace.wait(lambda: terminals.calls == ["create"], 15)
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    (asked,) = [q for q in play.client.questions if q["method"] == "terminal/create"]
    body = {"jsonrpc": "2.0", "id": asked["id"], **terminals.create(asked["params"])}
    play.client.send_line(json.dumps(body).encode())
    assert (terminals.released(), terminals.calls) == (True, ["create", "kill", "release"])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"create": METHOD_NOT_FOUND}, "did not run in the editor's terminal"),
        ({"create": {"result": {}}}, "without an id"),
        ({"wait_for_exit": {"error": {"code": -32603, "message": "gone"}}}, "could not say how it ended: gone"),
        ({"output": {"result": "nothing"}}, "did not give the output"),
        ({"wait_for_exit": {"result": {}}}, "[ended by signal unknown]"),
        ({"release": {"error": {"code": -32603, "message": "no"}}}, "[exit code 0]"),
    ],
)
def test_an_editor_that_fails_holds_nothing_up(play: Play, broken: dict[str, Obj | None], said: str) -> None:
    terminals = Terminals(play)
    terminals.broken = broken
    stopped, (card,) = play.run(bash("echo hi; cat"), {"text": "ok"})
    assert (stopped, card.status in ("completed", "failed"), said in play.results()[0]) == ("end_turn", True, True)
    assert terminals.released()


def test_a_replay_names_no_terminal_and_shows_the_text(play: Play) -> None:
    terminals = Terminals(play)
    play.run(bash("echo hi"), {"text": "ok"})
    assert terminals.released()
    play.restart()
    replay = load(play.client, play.session, play.stage.project)
    assert "term-1" not in json.dumps([update.fields for update in replay])
    last = [update.fields for update in replay if update.kind == "tool_call_update"][-1]
    assert last["content"] == [{"type": "content", "content": {"type": "text", "text": "hi\n[exit code 0]"}}]


def test_an_editor_that_dies_leaves_nothing_running(play: Play) -> None:
    terminals = Terminals(play)
    play.script(bash("sleep 600"))
    play.client.ask(play.session, "go")
    play.client.trace.wait(lambda: "wait_for_exit" in terminals.calls, 15)
    play.client.trace.excuse(1)
    play.client.answerers |= dict.fromkeys(METHODS, silent)
    assert play.client.agent.end() is None
    end(terminals.open["term-1"])
    assert list((play.stage.root / "tmp").iterdir()) == []


def test_our_own_shell_is_drawn_as_a_terminal_where_that_is_understood(play: Play) -> None:
    play.client.initialize({"_meta": {"terminal_output": True}})
    session = str(play.client.result("session/new", {"cwd": str(play.stage.project), "mcpServers": []})["sessionId"])
    play.client.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
    play.script(bash("echo first; sleep 0.5; echo second; exit 3"), {"text": "ok"})
    answer, turn = play.client.prompt(session, "go")
    assert stop_reason(answer) == "end_turn"
    frames = [u.fields for u in play.client.trace.turn_updates(turn) if str(u.kind).startswith("tool_call")]
    ident = frames[0]["toolCallId"]
    embedded = [{"type": "terminal", "terminalId": ident}]
    assert (frames[0]["kind"], frames[0]["content"]) == ("execute", embedded)
    assert frames[0]["_meta"] == {"terminal_info": {"terminal_id": ident}}
    pieces = [frame["_meta"]["terminal_output"] for frame in frames[1:] if "terminal_output" in frame.get("_meta", {})]
    assert "".join(piece["data"] for piece in pieces) == "first\nsecond\n[exit code 3]"
    assert frames[-1]["_meta"]["terminal_exit"] == {"terminal_id": ident, "exit_code": 3, "signal": None}
    assert (frames[-1]["status"], frames[-1]["content"]) == ("completed", embedded)
    play.restart()
    replay = load(play.client, session, play.stage.project)
    assert "terminal_" not in json.dumps([update.fields for update in replay])


def test_a_terminal_is_never_waited_for_by_polling(play: Play) -> None:
    terminals = Terminals(play)
    start = time.monotonic()
    play.run(bash("sleep 1"), {"text": "ok"})
    assert (time.monotonic() - start >= 1, terminals.calls.count("output")) == (True, 1)
