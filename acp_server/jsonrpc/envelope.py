"""What one line means: a call, an answer to one of our calls, something to refuse, or something to pass over.

Owns the rules of JSON-RPC 2.0 envelopes as the Agent Client Protocol narrows them: no batches, parameters by name
only, ids of type string, number or null. Knows no method. Whatever the bytes are, nothing is raised.
Strings come out without lone surrogates (U+FFFD stands in their place) and numbers are finite, so that everything
that was read can be written again.

On the start path: plain classes, because dataclasses and typing cost more than the rest of the path together.
"""

from __future__ import annotations

import json
import re

from acp_server.jsonrpc.errors import INTERNAL_ERROR, RpcError, invalid_params, invalid_request, parse_error

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded by type checkers alone
    from typing import Any, NoReturn

Id = str | int | float | None
_ID_TYPES = frozenset((str, int, float, type(None)))


class Absent:
    """The type of ABSENT, the id of a notification."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def _same(self: object, other: object) -> bool:
    if type(self) is not type(other):
        return False
    return all(getattr(self, name) == getattr(other, name) for name in type(self).__slots__)  # type: ignore[attr-defined]  # only classes with slots use this


def _show(self: object) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__slots__)  # type: ignore[attr-defined]  # only classes with slots use this
    return f"{type(self).__name__}({values})"


class Call:
    """A request (`id` is an Id) or a notification (`id` is ABSENT). `params` is `{}` when none were sent."""

    __slots__ = ("id", "method", "params")
    __eq__ = _same
    __hash__ = None  # type: ignore[assignment]  # holds what may change
    __repr__ = _show

    def __init__(self, method: str, params: dict[str, Any], id: Id | Absent) -> None:  # noqa: A002 - JSON-RPC's word
        self.method = method
        self.params = params
        self.id = id


class Answer:
    """A response to one of our requests: `error` is None on success. `result` is any JSON value."""

    __slots__ = ("error", "id", "result")
    __eq__ = _same
    __hash__ = None  # type: ignore[assignment]  # holds what may change
    __repr__ = _show

    def __init__(self, id: Id, result: Any, error: dict[str, Any] | None) -> None:  # noqa: A002 - JSON-RPC's word
        self.id = id
        self.result = result
        self.error = error


class Refused:
    """A line that is answered with an error at once; `id` is null unless the request's own id is known and good."""

    __slots__ = ("error", "id")
    __repr__ = _show

    def __init__(self, error: RpcError, id: Id = None) -> None:  # noqa: A002 - JSON-RPC's word
        self.error = error
        self.id = id


class Ignored:
    """A line that must not be answered and cannot be used: a malformed notification or response. For the log."""

    __slots__ = ("reason",)
    __eq__ = _same
    __hash__ = None  # type: ignore[assignment]  # holds what may change
    __repr__ = _show

    def __init__(self, reason: str) -> None:
        self.reason = reason


def read_message(line: bytes) -> Call | Answer | Refused | Ignored:
    """Return what the line means. Never raises, whatever the bytes."""
    try:
        message = _DECODER.decode(_text(line))
    except RecursionError:
        return Refused(parse_error("The message is nested too deeply."))
    except ValueError:
        return Refused(parse_error("The line is not valid JSON."))
    if not isinstance(message, dict):
        return Refused(invalid_request("A message is one JSON object; batches are not supported."))
    if isinstance(message.get("method"), str):
        return _read_call(message)
    if "method" not in message and ("result" in message or "error" in message):
        return _read_answer(message)
    return Refused(invalid_request("The message has no method."))


def is_id(value: object) -> bool:
    """Return whether the value may be a request's id; booleans are not numbers here."""
    return type(value) in _ID_TYPES


def _read_call(message: dict[str, Any]) -> Call | Refused | Ignored:
    ident = message.get("id", ABSENT)
    params = message.get("params")
    if message.get("jsonrpc") != "2.0":
        refusal = Refused(invalid_request('The member jsonrpc must be "2.0".'))
    elif ident is not ABSENT and not is_id(ident):
        refusal = Refused(invalid_request("An id is a string, a number or null."))
    elif params is None or isinstance(params, dict):
        return Call(message["method"], {} if params is None else params, ident)
    else:
        refusal = Refused(invalid_params("Parameters are passed as one object."), ident)
    return refusal if ident is not ABSENT else Ignored("a malformed notification")


def _read_answer(message: dict[str, Any]) -> Answer | Ignored:
    """A wrong `jsonrpc` member passes here: refusing the answer would leave our request waiting for ever."""
    ident = message.get("id", ABSENT)
    if not is_id(ident):
        return Ignored("a response without a usable id")
    error = message.get("error")
    if error is None and "result" in message:
        return Answer(ident, message["result"], None)
    if not isinstance(error, dict):
        error = {"code": INTERNAL_ERROR, "message": "The client sent a malformed error."}
    return Answer(ident, None, error)


def _text(line: bytes) -> str:
    text = line.decode()
    if "\\ud" in text or "\\uD" in text:
        return _ESCAPE.sub(_whole_escape, text)
    return text


# Every escape is matched, so that the backslash of an escaped backslash never starts one.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def _whole_escape(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else "\\ufffd"


def _finite(token: str) -> float:
    number = float(token)
    if number - number != 0:
        raise ValueError("the number is out of range")
    return number


def _no_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
