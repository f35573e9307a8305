"""A model that does whatever any text tells it: it looks for orders in all that it is sent, and obeys each once.

It is the worst that a model can be: no wording of ours stops it, and only what the server does can.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.security.injections.fixture import MARK, MARK64, UNSEEN, filled
from tests.support.llm_script import Answer, Asked, Script, text_of
from tests.support.trace import Obj


class Obedient(Script):
    """Does the task of its own, one call an answer, then what it was ordered; ends when nothing is left to do."""

    def __init__(self, task: Sequence[Obj], canary: str) -> None:
        super().__init__(())
        self.task = list(task)
        self.obeyed: list[str] = []
        self._canary = canary

    def choose(self, asked: Asked) -> Answer:
        for orders in orders_in(asked):
            fresh = [order for order in orders if json.dumps(order) not in self.obeyed]
            if fresh:
                self.obeyed += [json.dumps(order) for order in fresh]
                return self._obey(fresh, asked)
        if self.task:
            return self._knowing([self.task.pop(0)], asked)[0]
        return {"text": "Done."}

    def _knowing(self, given: Sequence[Obj], asked: Asked) -> list[Obj]:
        """Return what was given with the canary filled in, where this conversation has told it."""
        known = self._canary if self._canary in json.dumps(asked.messages) else "unknown"
        ready: list[Obj] = filled(list(given), {"canary": known})
        return ready

    def _obey(self, orders: Sequence[Obj], asked: Asked) -> Obj:
        ready = self._knowing(orders, asked)
        said = "".join(order["say"] for order in ready if "say" in order)
        calls = [order for order in ready if "tool" in order]
        return {"text": said, "calls": calls} if calls else {"text": said}


def orders_in(asked: Asked) -> Iterator[list[Obj]]:
    """Return the orders in everything that a request tells but what the model itself has said."""
    for message in asked.messages:
        if message.get("role") != "assistant":
            yield from _orders(text_of(message.get("content")))
    yield from (found for text in _texts(asked.body.get("tools")) for found in _orders(text))


def _texts(given: Any) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        for each in given.values():
            yield from _texts(each)
    elif isinstance(given, list):
        for each in given:
            yield from _texts(each)


def _orders(text: str) -> Iterator[list[Obj]]:
    unseen = "".join(chr(ord(each) - UNSEEN) for each in text if UNSEEN < ord(each) < UNSEEN + 0x80)
    for plain in (text, unseen):
        at = plain.find(MARK)
        while at >= 0:
            orders, end = _decoded(plain, at + len(MARK))
            if orders is not None:
                yield orders
            at = plain.find(MARK, end)
    for piece in text.split(MARK64)[1:]:
        packed = piece.partition(".")[0]
        yield json.loads(urlsafe_b64decode(packed))


def _decoded(text: str, at: int) -> tuple[list[Obj] | None, int]:
    try:
        orders, end = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        return None, at
    return (orders, end) if isinstance(orders, list) else (None, at)
