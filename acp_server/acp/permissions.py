"""Questions of consent over `session/request_permission` (docs/protocol.md, clauses R-01 to R-14).

Everything but a clear yes is a no: a cancelled outcome, an unknown option, an error, a client without the method.
There is no limit of time after which silence would count as anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from acp_server.acp.cards import card_fields
from acp_server.agent.consent.approvals import Outcome, Question
from acp_server.base.cancel import CancelToken
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError
from acp_server.jsonrpc.peer import Peer

METHOD: Final = "session/request_permission"
ALLOW_ONCE: Final = "allow-once"
ALLOW_SESSION: Final = "allow-session"
REJECT_ONCE: Final = "reject-once"


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
        return outcome_of(result, rememberable=question.kept is not None)

    def _params(self, question: Question) -> dict[str, Any]:
        call = {"toolCallId": self._wire_id(question.call_id), **card_fields(question.card)}
        call |= {"name": question.tool, "rawInput": raw_input(question)}
        return {"sessionId": self._session_id, "toolCall": call, "options": options(question)}


def options(question: Question) -> list[dict[str, str]]:
    """Return the options, a yes first, at most one of a kind (clauses R-02 to R-04)."""
    once = {"optionId": ALLOW_ONCE, "name": "Allow once", "kind": "allow_once"}
    no = {"optionId": REJECT_ONCE, "name": "Reject", "kind": "reject_once"}
    if question.kept is None:
        return [once, no]
    always = {"optionId": ALLOW_SESSION, "name": f"Allow for this session: {question.kept}", "kind": "allow_always"}
    return [once, always, no]


def raw_input(question: Question) -> dict[str, Any]:
    """Return the exact effect and the reason, which is all that an answer stands for."""
    effect = question.effect
    told: dict[str, Any] = {"reason": question.reason, "effect": effect.kind}
    if effect.paths:
        told["paths"] = list(effect.paths)
    if effect.command is not None:
        told["command"] = effect.command
    if effect.url is not None:
        told["url"] = effect.url
    return told


def outcome_of(result: Mapping[str, Any], *, rememberable: bool) -> Outcome:
    """Return what the client's result says; what is not understood is a no."""
    outcome = result.get("outcome")
    if not isinstance(outcome, Mapping):
        return "rejected"
    if outcome.get("outcome") == "cancelled":
        return "cancelled"
    chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
    if chosen == ALLOW_ONCE:
        return "allowed-once"
    return "allowed-session" if chosen == ALLOW_SESSION and rememberable else "rejected"
