"""Chat Completions for the agent: one streamed request that can be cancelled, and repeated when that is of use."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.cases.refagent.flaws import Flaws

Obj = dict[str, Any]
OnText = Callable[[str], None]
TRIES = 3


class CancelledError(Exception):
    """The person stopped the turn."""


class ModelError(Exception):
    """A request failed; the text is for a person."""

    def __init__(self, text: str, status: int = 0, *, shown: bool = False) -> None:
        super().__init__(text)
        self.status, self.shown = status, shown
        self.after: float | None = None
        """Seconds that the server asks to wait."""
        self.final = False
        """Another try is of no use."""


class TooLongError(ModelError):
    """The messages are longer than the model's window."""


def nothing(_: str) -> None:
    """Drop a piece of text."""


class Call:
    """One turn's way to the model; `cancel` works from any thread and at any time."""

    def __init__(self, base: str, key: str, flaws: Flaws) -> None:
        self.base, self.key, self.flaws = urllib.parse.urlsplit(base), key, flaws
        self.cancelled = threading.Event()
        self._socket: socket.socket | None = None

    def cancel(self) -> None:
        self.cancelled.set()
        open_socket = self._socket
        if open_socket is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise CancelledError

    def ask(self, body: Obj, on_text: OnText, on_thought: OnText = nothing) -> tuple[Obj, str | None, Obj]:
        """Return (message, finish, usage); `on_text` gets each piece as it comes."""
        tries = 0
        while True:
            self.check()
            try:
                return self._once(body, on_text, on_thought)
            except (OSError, http.client.HTTPException, ModelError) as why:
                self.check()
                tries += 1
                self._try_again_or_raise(why, tries)

    def _try_again_or_raise(self, why: Exception, tries: int) -> None:
        """Wait as long as the next try wants; raise when there is none."""
        fault = why if isinstance(why, ModelError) else ModelError(f"the model server cannot be reached: {why}")
        if "useless" in self.flaws and tries < TRIES:
            return
        shown = fault.shown and "again" not in self.flaws
        refused = 400 <= fault.status < 500 and fault.status != 429
        if isinstance(fault, TooLongError) or shown or refused or tries > TRIES or fault.final:
            raise fault
        asked_for = None if "hasty" in self.flaws else fault.after
        if self.cancelled.wait(asked_for or 0.1 * 2**tries):
            raise CancelledError

    def _once(self, body: Obj, on_text: OnText, on_thought: OnText) -> tuple[Obj, str | None, Obj]:
        connection = http.client.HTTPConnection(self.base.hostname or "", self.base.port, timeout=60)
        try:
            connection.connect()
            self._socket = connection.sock
            self.check()
            data = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
            headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
            connection.request("POST", f"{self.base.path}/chat/completions", data, headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise _refusal(answer)
            return self._read(answer, on_text, on_thought)
        except (OSError, http.client.HTTPException, ValueError):
            self.check()
            raise
        finally:
            self._socket = None
            connection.close()

    def _read(
        self, answer: http.client.HTTPResponse, on_text: OnText, on_thought: OnText
    ) -> tuple[Obj, str | None, Obj]:
        read = Reading(on_text, on_thought)
        for line in answer:
            self.check()
            if line.startswith(b"data:") and not read.feed(line[5:].strip()):
                break
        return read.end()


class Reading:
    """One streamed answer as far as it has come."""

    def __init__(self, on_text: OnText, on_thought: OnText) -> None:
        self.on_text, self.on_thought = on_text, on_thought
        self.text = self.thought = ""
        self.calls: dict[int, Obj] = {}
        self.finish: str | None = None
        self.usage: Obj = {}
        self.done = False

    def feed(self, data: bytes) -> bool:
        """Take one event; return whether more may come."""
        if data == b"[DONE]":
            self.done = True
            return False
        got = json.loads(data)
        if got.get("error"):
            raise ModelError(str(got["error"].get("message")), shown=bool(self.text))
        self.usage = got.get("usage") or self.usage
        for choice in got.get("choices") or []:
            self._delta(choice.get("delta") or {})
            self.finish = choice.get("finish_reason") or self.finish
        return True

    def _delta(self, delta: Obj) -> None:
        if delta.get("reasoning_content"):
            self.thought += delta["reasoning_content"]
            self.on_thought(delta["reasoning_content"])
        if delta.get("content"):
            self.text += delta["content"]
            self.on_text(delta["content"])
        for part in delta.get("tool_calls") or []:
            blank: Obj = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            call = self.calls.setdefault(part.get("index", len(self.calls)), blank)
            call["id"] = call["id"] or part.get("id") or ""
            function = part.get("function") or {}
            call["function"]["name"] = call["function"]["name"] or function.get("name") or ""
            call["function"]["arguments"] += function.get("arguments") or ""

    def end(self) -> tuple[Obj, str | None, Obj]:
        if self.finish is None and not self.done:
            raise ModelError("the connection to the model broke off", shown=bool(self.text))
        if not self.text and not self.calls and not self.thought:
            raise ModelError("the model gave an empty answer")
        message: Obj = {"role": "assistant", "content": self.text}
        if self.thought:
            message["reasoning_content"] = self.thought
        if self.calls and self.finish != "length":
            message["tool_calls"] = [self.calls[index] for index in sorted(self.calls)]
            for n, call in enumerate(message["tool_calls"]):
                call["id"] = call["id"] or f"made_{time.monotonic_ns()}_{n}"
        return message, self.finish, self.usage


def _refusal(answer: http.client.HTTPResponse) -> ModelError:
    """Return what an answer with an error status says."""
    text = answer.read().decode("utf-8", "replace")
    try:
        told = json.loads(text)["error"]
        said, code = str(told.get("message")), f"{told.get('code')} {told.get('type')}"
    except (ValueError, KeyError, TypeError):
        said = code = ""
    if "context_length" in code or "context length" in said or "too long" in said:
        return TooLongError("the conversation is longer than the model's context window", answer.status)
    if answer.status in {401, 403}:
        said = "the API key was refused (401); set OPENAI_API_KEY"
    reason = said or "no reason given"
    fault = ModelError(f"the model server answered with error {answer.status}: {reason}", answer.status)
    after = answer.headers.get("retry-after") or ""
    fault.after = float(after) if after.isdigit() else None
    fault.final = "insufficient_quota" in code
    return fault
