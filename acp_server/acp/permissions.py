"""Questions of consent over `session/request_permission` (docs/protocol.md, clauses R-01 to R-14).

Everything but a clear yes is a no: a cancelled outcome, an unknown option, an error, a client without the method.
There is no limit of time after which silence would count as anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from acp_server.acp.cards import card_fields, one_line, text_content
from acp_server.acp.rendering import fenced, shown, shown_line
from acp_server.agent.consent.approvals import Outcome, Question
from acp_server.agent.consent.rules import Scope, Subject
from acp_server.base.cancel import CancelToken
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError
from acp_server.jsonrpc.peer import Peer

METHOD: Final = "session/request_permission"
ALLOW_ONCE: Final = "allow-once"
ALWAYS: Final[Mapping[Scope, tuple[str, Outcome]]] = {
    "session": ("allow-session", "allowed-session"),
    "project": ("allow-project", "allowed-project"),
}
"""The option and the outcome of a yes that is remembered, by how long it is."""
NEVER: Final[Mapping[Scope, tuple[str, Outcome]]] = {
    "session": ("reject-session", "rejected-session"),
    "project": ("reject-project", "rejected-project"),
}
"""Likewise of a no."""
REJECT_ONCE: Final = "reject-once"
_WHAT: Final[Mapping[Subject, str]] = {"command": "", "edit": "changes of ", "fetch": "requests to ", "mcp": ""}


class Permissions:
    """Asks one client about the calls of one session. `wire_id` gives the id under which the client knows a call."""

    def __init__(self, peer: Peer, session_id: str, wire_id: Callable[[str], str]) -> None:
        self._peer = peer
        self._session_id = session_id
        self._wire_id = wire_id

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        """See Asker."""
        try:
            result = await self._peer.request(METHOD, self._params(question), cancel=cancel)
        except (RemoteError, ConnectionClosed):
            return "unavailable"
        return outcome_of(result, None if question.kept is None else question.kept.scope)

    def _params(self, question: Question) -> dict[str, Any]:
        face = card_fields(question.card)
        call = {"toolCallId": self._wire_id(question.call_id), **face, "name": question.tool}
        call |= {"title": title(question), "rawInput": raw_input(question)}
        call["content"] = [*face.get("content", ()), text_content(effect_text(question))]
        return {"sessionId": self._session_id, "toolCall": call, "options": options(question)}


def options(question: Question) -> list[dict[str, str]]:
    """Return the options, a yes first and a no last, at most one of a kind (clauses R-02 to R-04)."""
    once = {"optionId": ALLOW_ONCE, "name": "Allow once", "kind": "allow_once"}
    no = {"optionId": REJECT_ONCE, "name": "Reject", "kind": "reject_once"}
    if question.kept is None:
        return [once, no]
    scope = question.kept.scope
    what = f"for this {scope}: {_WHAT[question.kept.subject]}{shown_line(question.kept.what)}"
    always = {"optionId": ALWAYS[scope][0], "name": f"Allow {what}", "kind": "allow_always"}
    never = {"optionId": NEVER[scope][0], "name": f"Reject {what}", "kind": "reject_always"}
    return [once, always, never, no]


def title(question: Question) -> str:
    """Return what would happen in one line: a command itself, whatever the model calls it."""
    command = question.effect.command
    return one_line(question.card.title if command is None else command)


def effect_text(question: Question) -> str:
    """Return everything that a yes would stand for, made of the effect that runs (clause R-09)."""
    effect = question.effect
    parts = [f"{question.reason}"]
    if effect.command is not None:
        beside = " in the background, without a limit of time," if effect.background else ""
        where = f"It would run{beside} in {shown_line(question.cwd)}. {question.bounds}"
        parts += [fenced(shown(effect.command)), where]
        if question.card.title != effect.command:
            parts.append(f"The model calls it: {shown_line(question.card.title)}")
    if effect.url is not None:
        parts.append(fenced(shown(effect.url)))
    if effect.paths:
        parts.append(fenced("\n".join(map(shown_line, effect.paths))))
    return "\n\n".join(parts)


def raw_input(question: Question) -> dict[str, Any]:
    """Return the exact effect and the reason, which is all that an answer stands for."""
    effect = question.effect
    told: dict[str, Any] = {"reason": question.reason, "effect": effect.kind}
    if effect.paths:
        told["paths"] = list(effect.paths)
    if effect.command is not None:
        told["command"] = effect.command
    if effect.background:
        told["background"] = True
    if effect.hosts:
        told["hosts"] = list(effect.hosts)
    if effect.url is not None:
        told["url"] = effect.url
    if effect.kind == "mcp":
        told |= {"server": effect.server, "tool": effect.tool, "arguments": effect.arguments}
    return told


def outcome_of(result: Mapping[str, Any], remembered: Scope | None) -> Outcome:
    """Return what the client's result says; what is not understood, and what was not offered, is a no for once."""
    outcome = result.get("outcome")
    if not isinstance(outcome, Mapping):
        return "rejected"
    if outcome.get("outcome") == "cancelled":
        return "cancelled"
    chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
    if chosen == ALLOW_ONCE:
        return "allowed-once"
    known = [] if remembered is None else [table[remembered] for table in (ALWAYS, NEVER) if remembered in table]
    return next((answer for option, answer in known if option == chosen), "rejected")
