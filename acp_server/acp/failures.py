"""Failures as errors on the wire, ends of turns as answers (docs/protocol.md, clauses P-07 to P-09). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from acp_server.agent.turns import EndKind, TurnEnd
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.errors import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    RESOURCE_NOT_FOUND,
    RpcError,
)
from acp_server.llm.explain import CallPlace, explain
from acp_server.messages.chunks import LlmFailure
from acp_server.persistence.port import PersistenceError

STOP_REASONS: Final[dict[EndKind, str]] = {
    "completed": "end_turn",
    "blocked": "end_turn",
    "max-tokens": "max_tokens",
    "max-turn-requests": "max_turn_requests",
    "refusal": "refusal",
    "aborted": "cancelled",
    "interrupted": "cancelled",
}
NEEDS_LOGIN: Final = frozenset({"AUTH", "MISSING_CREDENTIAL", "INVALID_CREDENTIAL"})
_STORE_CODES: Final = {
    "SESSION_BUSY": INVALID_REQUEST,
    "SESSION_ALREADY_EXISTS": INVALID_REQUEST,
    "OPEN_TURN": INVALID_REQUEST,
    "INVALID_CURSOR": INVALID_PARAMS,
    "INVALID_BOUNDARY": INVALID_PARAMS,
}
TOLD_FACTS: Final = frozenset({"SESSION_BUSY", "SESSION_CORRUPT"})
REFUSED: Final = frozenset(
    {"AGENT_DISPOSED", "AGENT_BUSY", "INBOX_FULL", "SESSION_READ_ONLY", "NOTHING_TO_UNDO", "NO_SUCH_MESSAGE"}
)


def prompt_result(end: TurnEnd, auth_methods: Sequence[Any], place: CallPlace) -> dict[str, Any]:
    """Return the result of a prompt whose turn ended so; `place` is where its requests went.

    Raises:
        RpcError: the turn failed; -32000 with the ways to log in when the key is the reason, else -32603.
    """
    if end.failure is not None:
        raise model_error(end.failure, auth_methods, place)
    return {"stopReason": STOP_REASONS[end.kind]}


def model_error(failure: LlmFailure, auth_methods: Sequence[Any], place: CallPlace) -> RpcError:
    """Return the error that tells of a failure: who failed, why, and what can be done, in message and details."""
    words = explain(failure, place)
    if failure.code in NEEDS_LOGIN:
        return auth_required(words, auth_methods)
    return RpcError(INTERNAL_ERROR, words, {"details": words})


def auth_required(details: str, auth_methods: Sequence[Any]) -> RpcError:
    """Return -32000 with the ways to log in, clauses A-09 and A-10."""
    data = {"details": details, "authMethods": list(auth_methods)}
    return RpcError(AUTH_REQUIRED, f"Authentication required: {details}", data)


def invalid(field: str, reason: str) -> RpcError:
    """Return the -32602 that names the field."""
    return RpcError(INVALID_PARAMS, f"Invalid params: {field} {reason}", {"details": f"{field} {reason}"})


def session_not_found(session_id: str) -> RpcError:
    """Return -32002 naming the session, clause T-61."""
    data = {"sessionId": session_id, "details": f"Session not found: {session_id}"}
    return RpcError(RESOURCE_NOT_FOUND, "Session not found", data)


def stored_error(error: PersistenceError, session_id: str) -> RpcError:
    """Return the error for a failure of the store, clauses S-28, S-30, S-54 and decision 11.

    A session that another process holds is -32600, with `data` naming its pid, host and start.
    """
    if error.code == "SESSION_NOT_FOUND":
        return session_not_found(session_id)
    code = _STORE_CODES.get(error.code, INTERNAL_ERROR)
    facts = error.data if error.code in TOLD_FACTS else {}
    return RpcError(code, error.message, {"details": error.message, **facts})


def refused(error: ServerError) -> RpcError:
    """Return the error for a failure of the server's own: -32600 for a wrong moment, else -32603."""
    code = INVALID_REQUEST if error.code in REFUSED else INTERNAL_ERROR
    return RpcError(code, error.message, {"details": error.message})
