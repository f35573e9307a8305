"""The steps of an rpc case: what the runner does to the agent, in order. README.md says what each means."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.cases import logfile
from tests.cases.place import Place
from tests.support.llm_script import Asked, text_of
from tests.support.mock_llm import MockLlm
from tests.support.process import AgentProcess
from tests.support.trace import Frame, Obj, Trace, Turn

WAIT_MS = 10000
MCP_ECHO = Path(__file__).with_name("mcp_echo.py")
KINDS = (
    "send",
    "wait",
    "answer",
    "auto_answer",
    "close_stdin",
    "close_stdout",
    "signal",
    "restart",
    "damage",
    "sleep_ms",
)
WAITS = ("response", "response_any", "update", "request", "llm_requests", "file", "exit")
NOT_FOUND: Obj = {"error": {"code": -32601, "message": "Method not found"}}


class StepError(Exception):
    """A step did not come to its end; the text says which and why."""


class Run:
    """One run of one case: its processes, what was saved and kept, and the answers given by themselves."""

    def __init__(
        self, command: tuple[str, ...], case: Obj, lines: list[bytes], place: Place, mock: MockLlm, trace: Trace
    ) -> None:
        self.command, self.case, self.lines = command, case, lines
        self.place, self.mock, self.trace = place, mock, trace
        self.saved: dict[str, str] = {}
        self.kept: dict[str, Frame] = {}
        self.auto: dict[str, Obj] = {}
        self.taken: set[Frame] = set()
        """The agent's questions that were answered or that a step waited for."""
        waits = [s["wait"] for s in case["steps"] if "wait" in s]
        self.expected = {w["request"] for w in waits if "request" in w}
        self.expected |= {s["auto_answer"]["method"] for s in case["steps"] if "auto_answer" in s}
        self.wrong: list[str] = []
        self.code_after_steps: int | None = None
        self.proc, self.mark = 0, 0
        self.agent = self.start()

    def start(self) -> AgentProcess:
        """Start a process in the same directories."""
        self.proc += 1
        env = self.place.env(self.case, self.mock.environment("openai"))
        stderr = self.place.stderr(self.proc)
        return AgentProcess(self.command, env, self.place.launch, self.trace, self.proc, stderr, self.on_line)

    def on_line(self, agent: AgentProcess, frame: Frame) -> None:
        """In the reader's thread: answer what the case answers by itself, refuse what no step mentions."""
        if not frame.is_request():
            return
        method = frame.value["method"]
        if method in self.auto:
            self.taken.add(frame)
            self.reply(agent, frame, self.auto[method])
        elif method not in self.expected:
            self.taken.add(frame)
            self.reply(agent, frame, NOT_FOUND)

    def reply(self, agent: AgentProcess, frame: Frame, how: Obj) -> None:
        if "option_kind" in how:
            options = (frame.value.get("params") or {}).get("options") or []
            found = [o["optionId"] for o in options if o.get("kind") == how["option_kind"]]
            if not found:
                self.wrong.append(f"no option of kind {how['option_kind']} is offered")
            outcome = {"outcome": "selected", "optionId": found[0]} if found else {"outcome": "cancelled"}
            body: Obj = {"result": {"outcome": outcome}}
        else:
            body = {key: how[key] for key in ("result", "error") if key in how}
        agent.send(json.dumps({"jsonrpc": "2.0", "id": frame.value["id"], **body}).encode())

    # -- steps

    def steps(self) -> None:
        """Take all steps; raise StepError at the first that fails."""
        for number, step in enumerate(self.case["steps"], 1):
            if "if_result" in step and "result" not in (self.trace.answer(step["if_result"]) or {}):
                continue
            kind = next(k for k in KINDS if k in step)
            try:
                getattr(self, f"do_{kind}")(step[kind], step)
            except StepError as why:
                raise StepError(f"step {number}: {why}") from None

    def do_send(self, span: int | list[int], step: Obj) -> None:
        first, last = span if isinstance(span, list) else (span, span)
        self.mark = len(self.trace.frames)
        lines = [(number, self.line(number)) for number in range(first, last + 1)]
        if step.get("together"):
            for _, line in lines:
                self.trace.add(self.proc, "sent", line)
            wrong = self.agent.write(b"".join(line + self.end_of(number) for number, line in lines))
            if wrong:
                raise StepError(wrong)
            return
        for number, line in lines:
            self.trace.add(self.proc, "sent", line)
            wrong = self.agent.write(line + self.end_of(number))
            if wrong:
                raise StepError(wrong)

    def end_of(self, number: int) -> bytes:
        """Return the LF of a line, or nothing for a last line that has none in the file."""
        return b"" if number == len(self.lines) and not self.case["last_line_ends"] else b"\n"

    def line(self, number: int) -> bytes:
        """Return a line of the case with its words filled in."""
        line = self.lines[number - 1]
        if line.startswith(b"@GENERATE:prompt:"):
            ident, count = line.split(b":")[2:]
            params = {"sessionId": "@SID@", "prompt": [{"type": "text", "text": "y" * int(count)}]}
            call = {"jsonrpc": "2.0", "id": int(ident), "method": "session/prompt", "params": params}
            line = json.dumps(call).encode()
        words = {
            "@PYTHON@": sys.executable,
            "@MCP_ECHO@": str(MCP_ECHO),
            "@CWD@": str(self.place.project),
            "@CWD2@": str(self.place.root / "project2"),
        }
        words |= {f"@{name}@": value for name, value in self.saved.items()}
        for word, value in words.items():
            line = line.replace(word.encode(), json.dumps(value)[1:-1].encode())
        return line

    def do_wait(self, what: Obj, step: Obj) -> None:
        seconds = what.get("within_ms", WAIT_MS) / 1000
        kind = next(k for k in WAITS if k in what)
        if kind == "exit":
            done: Any = self.agent.wait_exit(seconds) is not None
        else:
            done = self.trace.wait(lambda: getattr(self, f"seen_{kind}")(what[kind]), seconds)
        if not done:
            if step.get("optional"):
                return
            raise StepError(f"no {kind} {what[kind]!r} within {seconds:g} s{self.died()}")
        if isinstance(done, Frame):
            self.take(kind, done, step)

    def take(self, kind: str, found: Frame, step: Obj) -> None:
        """Do with a frame that was waited for what the step says."""
        if kind == "request":
            self.taken.add(found)
            if "keep" in step:
                self.kept[step["keep"]] = found
            if "answer" in step:
                self.reply(self.agent, found, step["answer"])
        for name, path in step.get("save", {}).items():
            value = found.value
            for key in path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, str):
                self.saved[name] = value
            elif not step.get("optional"):
                raise StepError(f"the answer has no {path}: {json.dumps(found.value)[:200]}")

    def died(self) -> str:
        code = self.agent.popen.poll()
        return "" if code is None else f" (the agent has exited with {code})"

    def seen_response(self, ident: object) -> Frame | None:
        found = self.trace.answers(ident, self.proc)
        return found[0] if found else None

    def seen_response_any(self, idents: list[object]) -> Frame | None:
        return next((f for ident in idents for f in self.trace.answers(ident, self.proc)), None)

    def seen_update(self, kind: str) -> Frame | None:
        later = self.trace.frames[self.mark :]
        return next((f for f in later if (u := f.update()) is not None and u.kind == kind), None)

    def seen_request(self, method: str) -> Frame | None:
        asked = (f for f in self.trace.frames if f.way == "got" and f.proc == self.proc and f.is_request(method))
        return next((f for f in asked if f not in self.taken), None)

    def seen_llm_requests(self, count: int) -> bool:
        return len(self.mock.asked) >= count

    def seen_file(self, name: str) -> bool:
        return (self.place.project / name).exists()

    def do_answer(self, how: Obj, step: Obj) -> None:
        self.reply(self.agent, self.kept[how["to"]], how)

    def do_auto_answer(self, how: Obj, step: Obj) -> None:
        self.auto[how["method"]] = how

    def do_close_stdin(self, _: object, step: Obj) -> None:
        self.trace.excuse(self.proc)
        self.agent.close_stdin()

    def do_close_stdout(self, _: object, step: Obj) -> None:
        self.agent.close_stdout()

    def do_signal(self, name: str, step: Obj) -> None:
        self.agent.signal(name)

    def do_restart(self, _: object, step: Obj) -> None:
        self.trace.excuse(self.proc)
        wrong = self.agent.end()
        if wrong:
            raise StepError(wrong)
        self.agent = self.start()

    def do_damage(self, how: Obj, step: Obj) -> None:
        self.agent.wait_exit(5)
        found = sorted(logfile.find(self.place.state), key=lambda p: p.stat().st_mtime_ns)
        if not found:
            raise StepError("no session log under the state directory")
        try:
            logfile.damage(found[-1], how["kind"], how["bytes"])
        except logfile.UnreadableError as why:
            raise StepError(str(why)) from None

    def do_sleep_ms(self, count: int, step: Obj) -> None:
        time.sleep(count / 1000)

    def settle(self, seconds: float = 3.0) -> None:
        """Give requests that are still open a last chance to be answered."""

        def all_answered() -> bool:
            mine = [n for n, f in self.trace.sent_requests() if f.proc == self.proc]
            return all(self.trace.find_answer(n) is not None for n in mine)

        if self.proc not in self.trace.open_until:
            self.trace.wait(all_answered, seconds)

    # -- whose a model request is

    def asked_in(self, ident: object) -> list[Asked]:
        """Return the turn requests that belong to prompt `ident`."""
        turn = self.trace.turn(ident)
        return [] if turn is None else [a for a in self.mock.asked if not a.side and self.owner(a) == turn.sent]

    def owner(self, asked: Asked) -> int | None:
        """Return the frame of the prompt that a request belongs to: of several open ones the one it names last."""
        frames = self.trace.frames

        def open_then(turn: Turn) -> bool:
            return frames[turn.sent].at <= asked.at and (not turn.answered or asked.at <= frames[turn.last].at)

        found = [turn for turn in self.trace.turns() if open_then(turn)]
        users = [text_of(m.get("content")) for m in asked.messages if m.get("role") == "user"]

        def named_at(turn: Turn) -> int:
            text = self.trace.prompt_text(turn.id)
            return max((n for n, user in enumerate(users) if text in user), default=-1)

        if len(found) > 1:
            found.sort(key=lambda turn: (-named_at(turn), turn.sent))
        return found[0].sent if found else None
