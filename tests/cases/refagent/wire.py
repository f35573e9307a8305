"""Messages out on fd 1, one line each; answers to the agent's own questions in."""

from __future__ import annotations

import itertools
import json
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from tests.cases.refagent.flaws import Flaws
from tests.cases.refagent.model import CancelledError

Obj = dict[str, Any]


class Wire:
    """One connection; every method may be called from any thread."""

    def __init__(self, flaws: Flaws) -> None:
        self.flaws = flaws
        self.on_broken: Callable[[], object] = lambda: None
        """Called before the process ends because nobody reads."""
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[object, queue.Queue[Obj]] = {}

    def send(self, value: Obj) -> None:
        """Write one message; a closed pipe ends the process."""
        data = json.dumps({"jsonrpc": "2.0", **value}).encode() + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[os.write(1, data) :]
            except BrokenPipeError:
                self.on_broken()
                os._exit(0)

    def answer(self, ident: object, body: Obj) -> None:
        if "ids" in self.flaws and not isinstance(ident, str):
            ident = str(ident)
        self.send({"id": ident, **body})
        if "twice" in self.flaws and "stopReason" in body.get("result", {}):
            self.send({"id": ident, **body})

    def update(self, session: str, what: str, **fields: Any) -> None:
        params = {"sessionId": session, "update": {"sessionUpdate": what, **fields}}
        self.send({"method": "session/update", "params": params})

    def ask(self, method: str, params: Obj, stop: threading.Event) -> Obj:
        """Return the editor's answer; raise CancelledError when the turn is stopped meanwhile."""
        ident, box = f"a{next(self._ids)}", queue.Queue[Obj]()
        self._waiting[ident] = box
        self.send({"id": ident, "method": method, "params": params})
        while True:
            if stop.is_set() and "cancel" not in self.flaws:
                raise CancelledError
            try:
                return box.get(timeout=0.02)
            except queue.Empty:
                continue

    def take(self, answer: Obj) -> None:
        """Give an answer to whoever waits for it; one that nobody waits for is dropped."""
        ident = answer.get("id")
        box = self._waiting.pop(ident, None) if isinstance(ident, str) else None
        if box is not None:
            box.put(answer)
