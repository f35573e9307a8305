"""One session of the agent: its log, its turns, its replay, its compaction."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cases.refagent.flaws import Flaws
from tests.cases.refagent.model import Call, CancelledError, ModelError, TooLongError, nothing
from tests.cases.refagent.tools import ASKS, SPECS, Editor, ToolError, Tools
from tests.cases.refagent.wire import Wire

Obj = dict[str, Any]
INTERNAL = -32603
SUMMARISE = "Summarise the conversation so far for yourself, in a few sentences."
STOP_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
TRIES = 5


class Log:
    """One JSON object a line: messages as the model sees them, ends of calls, compactions."""

    def __init__(self, path: Path, flaws: Flaws) -> None:
        self.path, self.flaws = path, flaws
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, **record: Any) -> None:
        with self.path.open("ab") as out:
            out.write(json.dumps(record).encode() + b"\n")

    def records(self) -> Iterator[Obj]:
        """Give everything that can be read; a torn tail is cut off first."""
        raw = self.path.read_bytes()
        if not raw.endswith(b"\n") and "torn" not in self.flaws:
            raw = raw[: raw.rfind(b"\n") + 1]
            self.path.write_bytes(raw)
        for line in raw.replace(b"\0", b"").split(b"\n"):
            try:
                record = json.loads(line or b"null")
            except ValueError:
                continue
            if record:
                yield record


class Session:
    """Works in a thread of its own, one prompt after the other."""

    def __init__(self, ident: str, cwd: Path, log: Log, wire: Wire, window: float, *, through_editor: bool) -> None:
        self.id, self.cwd, self.log, self.wire, self.flaws = ident, cwd, log, wire, wire.flaws
        self.window = window
        self.messages: list[Obj] = []
        self.todo: queue.Queue[tuple[object, str]] = queue.Queue()
        self.call: Call | None = None
        self.current: object = None
        self.used = 0
        for part in cwd.glob(".*.part"):
            part.unlink()
        self.through_editor = through_editor
        self.tools = Tools(cwd, Editor(self._editor_read, self._editor_write) if through_editor else None, self.flaws)
        threading.Thread(target=self._work, daemon=True).start()

    def _editor(self, method: str, **params: str) -> Obj:
        if self.call is None:
            raise ToolError("no turn is open")
        got = self.wire.ask(method, {"sessionId": self.id, **params}, self.call.cancelled)
        if "error" in got:
            raise ToolError(got["error"]["message"])
        result: Obj = got["result"]
        return result

    def _editor_read(self, path: str) -> str:
        return str(self._editor("fs/read_text_file", path=path)["content"])

    def _editor_write(self, path: str, content: str) -> str:
        self._editor("fs/write_text_file", path=path, content=content)
        return "written"

    def _add(self, message: Obj) -> None:
        self.messages.append(message)
        self.log.add(type="message", message=message)

    def _say(self, kind: str, text: str) -> None:
        self.wire.update(self.id, kind, content={"type": "text", "text": text})

    # -- replay

    def load(self) -> None:
        """Read the log and show it."""
        ends: dict[str, str] = {}
        shown: list[Obj] = []
        for record in self.log.records():
            if record["type"] == "message":
                self.messages.append(record["message"])
                shown.append(record["message"])
            elif record["type"] == "end":
                ends[record["id"]] = record["status"]
            elif record["type"] == "replace":
                self.messages = record["messages"]
        results = {m["tool_call_id"]: m["content"] for m in shown if m["role"] == "tool"}
        for message in shown:
            self._show(message, ends, results)
        called = [call["id"] for message in self.messages for call in message.get("tool_calls", [])]
        for ident in called:
            if ident not in results:
                self._add({"role": "tool", "tool_call_id": ident, "content": "interrupted"})

    def _show(self, message: Obj, ends: dict[str, str], results: dict[str, str]) -> None:
        if message["role"] == "user":
            self._say("user_message_chunk", message["content"])
        if message["role"] == "assistant" and message["content"]:
            self._say("agent_message_chunk", message["content"])
        for call in [] if "replay" in self.flaws else message.get("tool_calls", []):
            text = results.get(call["id"], "interrupted")
            self.wire.update(
                self.id,
                "tool_call",
                toolCallId=call["id"],
                title=call["function"]["name"],
                kind="other",
                status=ends.get(call["id"], "failed"),
                content=_content(text),
            )

    # -- turns

    def _work(self) -> None:
        while True:
            ident, text = self.todo.get()
            call = Call(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], self.flaws)
            self.call, self.current = call, ident
            body = self._body(text, call)
            self.call = self.current = None
            self.wire.answer(ident, body)
            if "late" in self.flaws:
                self._say("agent_message_chunk", "late")

    def _body(self, text: str, call: Call) -> Obj:
        try:
            return {"result": {"stopReason": self._turn(text, call)}}
        except CancelledError:
            return {"result": {"stopReason": "cancelled"}}
        except ModelError as why:
            if "swallow" in self.flaws:
                return {"result": {"stopReason": "end_turn"}}
            return {"error": {"code": INTERNAL, "message": str(why)}}
        except Exception as why:
            return {"error": {"code": INTERNAL, "message": f"{type(why).__name__}: {why}"}}

    def cancel(self) -> None:
        if self.call and "cancel" not in self.flaws:
            self.call.cancel()
            self.tools.kill()

    def _turn(self, text: str, call: Call) -> str:
        if text.strip() == "/compact":
            self._compact(call)
            self._say("agent_message_chunk", "Compacted.")
            return "end_turn"
        self._add({"role": "user", "content": text})
        while True:
            if self.used > 0.8 * self.window:
                self._compact(call)
            message, finish, usage = self._ask(call)
            self.used = usage.get("total_tokens", 0)
            self._add(message)
            for one in message.get("tool_calls", []):
                self._tool(one, call)
            call.check()
            if not message.get("tool_calls"):
                return STOP_REASONS.get(finish or "", "end_turn")

    def _request(self, messages: list[Obj]) -> Obj:
        time_of_day = f" It is {time.time():.0f}." if "clock" in self.flaws else ""
        system = {"role": "system", "content": f"You are a coding agent. Work in {self.cwd}.{time_of_day}"}
        if "orphan" in self.flaws:
            messages = [m for m in messages if m["role"] != "tool"]
        return {"model": "mock", "messages": [system, *messages], "tools": SPECS}

    def _ask(self, call: Call) -> tuple[Obj, str | None, Obj]:
        hidden = self.messages[-1]["role"] == "tool" and "afterTool" in self.flaws
        parts: list[str] = []

        def on_text(piece: str) -> None:
            parts.append(piece)
            if not hidden:
                self._say("agent_message_chunk", piece)

        attempt = 0
        while True:
            try:
                return call.ask(
                    self._request(self.messages), on_text, lambda thought: self._say("agent_thought_chunk", thought)
                )
            except TooLongError:
                if attempt == TRIES - 1 or not self._make_smaller(call, attempt):
                    raise
                attempt += 1
            except (CancelledError, ModelError):
                if parts:
                    self._add({"role": "assistant", "content": "".join(parts)})
                raise

    def _make_smaller(self, call: Call, attempt: int) -> bool:
        """Compact, harder each time; return whether that helped."""
        old = self._size()
        tries = (self._compact(call, hard) for hard in range(attempt, TRIES))
        return any(done and ("grow" in self.flaws or self._size() < old) for done in tries)

    def _tool(self, one: Obj, call: Call) -> None:
        ident, name = one["id"], one["function"]["name"]
        self.wire.update(self.id, "tool_call", toolCallId=ident, title=name, kind="other", status="pending")
        status, text = self._executed(ident, name, one["function"]["arguments"], call)
        self._add({"role": "tool", "tool_call_id": ident, "content": text})
        self.log.add(type="end", id=ident, status=status)
        self.wire.update(self.id, "tool_call_update", toolCallId=ident, status=status, content=_content(text))

    def _executed(self, ident: str, name: str, arguments: str, call: Call) -> tuple[str, str]:
        try:
            args = json.loads(arguments or "{}")
            call.check()
            if not isinstance(args, dict):
                return "failed", "error: the arguments are no object"
            if name in ASKS and not self.through_editor and not self._allowed(ident, name, call):
                return "failed", "error: the user refused this call"
            call.check()
            self.wire.update(self.id, "tool_call_update", toolCallId=ident, status="in_progress")
            text = self.tools.run(name, args)
        except (ValueError, ToolError) as why:
            return "failed", f"error: {why}"
        except CancelledError:
            return "failed", "cancelled by the user"
        return ("failed" if call.cancelled.is_set() else "completed"), text

    def _allowed(self, ident: str, name: str, call: Call) -> bool:
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
        params = {"sessionId": self.id, "toolCall": {"toolCallId": ident, "title": name}, "options": options}
        got = self.wire.ask("session/request_permission", params, call.cancelled)
        outcome = (got.get("result") or {}).get("outcome") or {}
        if outcome.get("outcome") == "cancelled":
            call.cancel()
        call.check()
        return bool(outcome.get("optionId") == "allow_once")

    # -- compaction

    def _compact(self, call: Call, hard: int = 0) -> bool:
        """Make the messages fewer; return whether they are. The newest request stays, with its calls and results."""
        if "deaf" in self.flaws:
            return False
        old = self._size()
        head, tail = self._halves()
        head = self._summary(head, call) if head else head
        if hard:
            keep = max(200, 4000 // hard**3)
            tail = [{**m, "content": m["content"][:keep]} if m["role"] == "tool" else m for m in tail]
            head = [] if hard > 2 else head
        if "grow" in self.flaws:
            again = [{"role": "user", "content": "again " * 40}, {"role": "assistant", "content": "Understood."}]
            head = again + self.messages[: len(self.messages) - len(tail)]
        self.messages, self.used = head + tail, 0
        self.log.add(type="replace", messages=self.messages)
        return self._size() < old or "grow" in self.flaws

    def _halves(self) -> tuple[list[Obj], list[Obj]]:
        """Return what may be summarised and what stays."""
        prompts = [n for n, m in enumerate(self.messages) if m["role"] == "user" and not _is_summary(m)]
        head, tail = self.messages[: prompts[-1]], self.messages[prompts[-1] :]
        return (head, tail) if tail[-1]["role"] != "assistant" else (self.messages, [])

    def _summary(self, head: list[Obj], call: Call) -> list[Obj]:
        try:
            request = self._request([*head, {"role": "user", "content": SUMMARISE}])
            summary = call.ask(request, nothing)[0]["content"]
        except ModelError:
            summary = " / ".join(m["content"][:80] for m in head if m["role"] == "user")[-2000:]
        return [{"role": "user", "content": f"Summary: {summary}"}, {"role": "assistant", "content": "Understood."}]

    def _size(self) -> int:
        return len(json.dumps(self.messages))


def _is_summary(message: Obj) -> bool:
    return str(message["content"]).startswith("Summary: ")


def _content(text: str) -> list[Obj]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]
