"""The cards of tool calls as the editor sees them: announced once, updated, ended (docs/protocol.md, TC-01 to TC-20).

Owns the ids on the wire: a provider may use one id again in a later step, an editor must not see it twice.
Pure: facts of events in, updates out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from acp_server.acp.cards import fields_of, one_line
from acp_server.acp.picture_updates import named

OUTPUT_LENGTH: Final = 64 * 1024
"""Characters of a result's text that go to the editor; the log keeps all."""


@dataclass(slots=True)
class _Card:
    id: str
    name: str
    started: bool = False
    waiting: bool = False
    """Whether the person is asked before it runs."""
    view: Mapping[str, Any] | None = None
    """How the tool wants to be drawn, as the log has it."""


class ToolCards:
    """The open calls of one session, keyed by the provider's id; ids on the wire are unique in the session."""

    def __init__(self) -> None:
        self._open: dict[str, _Card] = {}
        self._used: set[str] = set()
        self._questions: dict[str, Any] = {}

    def named(self, place: Mapping[str, Any], call_id: str, name: str | None) -> Sequence[dict[str, Any]]:
        """Announce the call, once its name is known."""
        if not name or call_id in self._open:
            return ()
        card = _Card(self._wire_id(place, call_id), name)
        self._open[call_id] = card
        return ({"sessionUpdate": "tool_call", **_face(card), "status": "pending"},)

    def started(self, data: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        """Show the call's arguments, and that it runs unless the person is asked first; announce it when nobody has."""
        announced = list(self.named(data, data["callId"], data["name"]))
        card = self._open[data["callId"]]
        card.started, card.view, card.waiting = True, data.get("view"), data.get("asks") is True
        return [*announced, {**_update(card), "rawInput": _raw_input(data["arguments"])}]

    def asked(self, data: Mapping[str, Any]) -> None:
        """Remember which call a question is about."""
        self._questions[data["id"]] = data.get("callId")

    def decided(self, data: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        """Show that a call runs which the person allowed."""
        card = self._open.get(self._questions.pop(data["id"], None))
        if card is None or not card.waiting or not data["outcome"].startswith("allowed"):
            return ()
        card.waiting = False
        return (_update(card),)

    def progressed(self, call_id: str, output: str) -> Sequence[dict[str, Any]]:
        """Show what a running call has put out so far: the end of it, where that is long."""
        card = self._open.get(call_id)
        if card is None or not card.started:
            return ()
        card.waiting = False
        update = _update(card)
        return ({**update, "content": [*update.get("content", []), *_text(output[-OUTPUT_LENGTH:])]},)

    def ended(self, data: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        """Show the result."""
        result = data["message"]["content"][0]
        card = self._open.pop(result["toolCallId"], None)
        if card is None:
            return ()
        given = data.get("meta")
        meta = given if isinstance(given, Mapping) else {}
        card.view = meta.get("card", card.view)
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        images = [block for block in result["content"] if block["type"] == "image"]
        update = _final(card, text, images, failed=result.get("isError") is True)
        raw = meta.get("rawOutput") or ({"error": data["error"]} if "error" in data else None)
        return (update if raw is None else {**update, "rawOutput": raw},)

    def give_up(self, place: Mapping[str, Any], why: str) -> Sequence[dict[str, Any]]:  # noqa: ARG002 - the step's facts
        """End calls that were announced by an attempt that is thrown away."""
        dropped = [call_id for call_id, card in self._open.items() if not card.started]
        return [_final(self._open.pop(call_id), why, failed=True) for call_id in dropped]

    def close_all(self, why: str) -> Sequence[dict[str, Any]]:
        """End every call that is still open."""
        cards, self._open = list(self._open.values()), {}
        return [_final(card, why, failed=True) for card in cards]

    def wire_id(self, call_id: str) -> str:
        """Return the id under which the editor knows an open call."""
        card = self._open.get(call_id)
        return call_id if card is None else card.id

    def _wire_id(self, place: Mapping[str, Any], call_id: str) -> str:
        wire = call_id if call_id not in self._used else f"{call_id}#{place['turn']}.{place['step']}"
        while wire in self._used:
            wire += "+"
        self._used.add(wire)
        return wire


def _face(card: _Card) -> dict[str, Any]:
    """Return what is repeated in each update, since some editors replace a card by its latest update (TC-05)."""
    drawn = {"title": one_line(card.name), "kind": "other"} if card.view is None else fields_of(card.view)
    return {"toolCallId": card.id, "name": card.name, **drawn}


def _update(card: _Card) -> dict[str, Any]:
    status = "pending" if card.waiting else "in_progress"
    return {"sessionUpdate": "tool_call_update", **_face(card), "status": status}


def _final(card: _Card, text: str, images: Sequence[Mapping[str, Any]] = (), *, failed: bool) -> dict[str, Any]:
    shown = text if len(text) <= OUTPUT_LENGTH else f"{text[:OUTPUT_LENGTH]}\n… ({len(text)} characters in all)"
    face = _face(card)
    diffs = [] if failed else face.get("content", [])  # a change that failed changed nothing
    status = "failed" if failed else "completed"
    pictures = [{"type": "content", "content": named(block)} for block in images]
    return {
        "sessionUpdate": "tool_call_update",
        **face,
        "status": status,
        "content": [*diffs, *_text(shown), *pictures],
    }


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}] if text else []


def _raw_input(arguments: str) -> dict[str, Any]:
    """Return the arguments as an object; text that is no JSON object is shown as it is."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    return value if isinstance(value, dict) else {"arguments": arguments}
