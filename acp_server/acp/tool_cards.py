"""The cards of tool calls as the editor sees them: announced once, updated, ended (docs/protocol.md, TC-01 to TC-20).

Owns the ids on the wire: a provider may use one id again in a later step, an editor must not see it twice.
Pure: facts of events in, updates out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.cards import fields_of, one_line
from acp_server.acp.partial_json import partial_object
from acp_server.acp.picture_updates import named
from acp_server.base.values import made, record

KINDS: Final[Mapping[str, str]] = {
    "read": "read",
    "list": "read",
    "glob": "search",
    "grep": "search",
    "write": "edit",
    "edit": "edit",
    "multi_edit": "edit",
    "bash": "execute",
    "job_list": "execute",
    "job_output": "execute",
    "job_stop": "execute",
    "todo": "think",
    "diagnostics": "search",
    "definition": "search",
    "references": "search",
    "hover": "search",
    "symbols": "search",
    "fetch": "fetch",
    "web_search": "fetch",
}
"""The kinds of the shipped tools, for a call of which nothing but the name is known."""
SHELL: Final = "bash"
"""The tool whose output a client may draw as a terminal."""
FIRST_LOOK: Final = 64
"""Characters of streaming arguments after which they are shown; four times as many after each showing."""
OVERLAP: Final = 256
"""Characters by which two windows on one output are laid over each other."""
OUTPUT_LENGTH: Final = 64 * 1024
"""Characters of a result's text that go to the editor; the log keeps all."""


@record
class _Card:
    id: str
    name: str
    started: bool = False
    waiting: bool = False
    """Whether the person is asked before it runs."""
    view: Mapping[str, Any] | None = None
    """How the tool wants to be drawn, as the log has it."""
    arguments: list[str] = made(default_factory=list)
    length: int = 0
    look_at: int = FIRST_LOOK
    terminal: str | None = None
    """The id of the terminal that shows its output; of a live card alone."""
    drawn: bool = False
    """Whether the terminal is the client's drawing of what we send, and not one in which the command runs."""
    shown: str = ""


class ToolCards:
    """The open calls of one session, keyed by the provider's id; ids on the wire are unique in the session."""

    def __init__(self) -> None:
        self._open: dict[str, _Card] = {}
        self._used: set[str] = set()
        self._questions: dict[str, Any] = {}
        self.live = False
        """Whether cards show what no replay repeats: arguments as they stream, terminals."""
        self.draws_terminals = False
        """Whether the client draws terminals from `_meta` (clause TM-10)."""

    def named(self, place: Mapping[str, Any], call_id: str, name: str | None) -> Sequence[dict[str, Any]]:
        """Announce the call, once its name is known."""
        if not name or call_id in self._open:
            return ()
        card = _Card(self._wire_id(place, call_id), name)
        self._open[call_id] = card
        announced = {"sessionUpdate": "tool_call", **_face(card), "status": "pending"}
        if self.live and self.draws_terminals and name == SHELL:
            card.terminal, card.drawn = card.id, True
            announced |= {"content": _terminal(card), "_meta": {"terminal_info": {"terminal_id": card.id}}}
        return (announced,)

    def argued(self, call_id: str, more: str) -> Sequence[dict[str, Any]]:
        """Show the arguments as far as they have come; seldom, since each look reads them from the start."""
        card = self._open.get(call_id)
        if not self.live or card is None or card.started:
            return ()
        card.arguments.append(more)
        card.length += len(more)
        if card.length < card.look_at:
            return ()
        card.look_at = 4 * card.length
        given = partial_object("".join(card.arguments))
        if given is None:
            return ()
        return ({"sessionUpdate": "tool_call_update", **_face(card), "status": "pending", "rawInput": given},)

    def attached(self, call_id: str, terminal_id: str) -> Sequence[dict[str, Any]]:
        """Show the client's terminal in which the call runs (clause TM-03)."""
        card = self._open.get(call_id)
        if card is None or not card.started:
            return ()
        card.terminal, card.drawn, card.waiting, card.shown = terminal_id, False, False, terminal_id
        return ({**_update(card), "content": [*_diffs(card), *_terminal(card)]},)

    def started(self, data: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        """Show the call's arguments, and that it runs unless the person is asked first; announce it when nobody has."""
        announced = list(self.named(data, data["callId"], data["name"]))
        card = self._open[data["callId"]]
        card.arguments.clear()
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
        if card.terminal is None:
            return ({**update, "content": [*_diffs(card), *_text(output[-OUTPUT_LENGTH:])]},)
        update["content"] = [*_diffs(card), *_terminal(card)]
        if card.drawn:
            data, card.shown = _new_part(card.shown, output), output
            update["_meta"] = {"terminal_output": {"terminal_id": card.terminal, "data": data}}
        return (update,)

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
        failed = result.get("isError") is True
        update = _final(card, text, images, failed=failed)
        if card.terminal is not None and (card.shown or not failed):
            update |= _last_of_terminal(card, text, meta, update["content"] if failed else [])
        raw = meta.get("rawOutput") or ({"error": data["error"]} if "error" in data else None)
        return (update if raw is None else {**update, "rawOutput": raw},)

    def give_up(self, place: Mapping[str, Any], why: str) -> Sequence[dict[str, Any]]:  # noqa: ARG002 - the step's facts
        """End calls that were announced by an attempt that is thrown away."""
        dropped = [call_id for call_id, card in self._open.items() if not card.started]
        return [_final(self._open.pop(call_id), why, failed=True) for call_id in dropped]

    def close_all(self, why: str) -> Sequence[dict[str, Any]]:
        """End every call that is still open."""
        if not self._open:
            return ()
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
    kind = KINDS.get(card.name, "other")
    drawn = {"title": one_line(card.name), "kind": kind} if card.view is None else fields_of(card.view)
    return {"toolCallId": card.id, "name": card.name, **drawn}


def _update(card: _Card) -> dict[str, Any]:
    status = "pending" if card.waiting else "in_progress"
    return {"sessionUpdate": "tool_call_update", **_face(card), "status": status}


def _diffs(card: _Card) -> list[dict[str, Any]]:
    return list(_face(card).get("content", []))


def _terminal(card: _Card) -> list[dict[str, Any]]:
    return [{"type": "terminal", "terminalId": card.terminal}]


def _last_of_terminal(card: _Card, text: str, meta: Mapping[str, Any], told: list[Any]) -> dict[str, Any]:
    """Return what a card's last update has for its terminal: the rest of the output, and how the command ended."""
    fields: dict[str, Any] = {"content": [*_terminal(card), *([] if card.drawn else told)]}
    if card.drawn:
        raw = meta.get("rawOutput")
        code = raw.get("exitCode") if isinstance(raw, Mapping) else None
        fields["_meta"] = {
            "terminal_output": {"terminal_id": card.terminal, "data": _new_part(card.shown, text)[-OUTPUT_LENGTH:]},
            "terminal_exit": {"terminal_id": card.terminal, "exit_code": code, "signal": None},
        }
    return fields


def _new_part(before: str, after: str) -> str:
    """Return what a text has that the one before it had not; of both only the end may be there."""
    if after.startswith(before):
        return after[len(before) :]
    tail = before[-OVERLAP:]
    found = after.rfind(tail)
    return after if found < 0 else after[found + len(tail) :]


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
