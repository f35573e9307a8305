"""Frames out of values: strict JSON, one message a line.

Owns what may be on the wire: no NaN and no infinity (null), no lone surrogate (U+FFFD), no raw line separator of any
kind. U+0085, U+2028 and U+2029 are escaped too, since line readers of several platforms split there. Every frame is
UTF-8 and ends with the only line feed in it. On the start path: imports json alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from json import encoder

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded by type checkers alone: json_value imports typing
    from acp_server.base.json_value import JsonObject, JsonValue
    from acp_server.jsonrpc.envelope import Id
    from acp_server.jsonrpc.errors import RpcError

encode_basestring = encoder.encode_basestring
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
_SEPARATORS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))


def _encoding() -> Callable[[object], str]:
    """Return the encoder as a function. JSONEncoder.encode makes its C part anew for each value: twice the cost."""
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the C part of json
        return _ENCODER.encode
    sort_keys = skip_keys = allow_nan = False
    pieces = make(None, _ENCODER.default, encode_basestring, None, ":", ",", sort_keys, skip_keys, allow_nan)
    return lambda value: "".join(pieces(value, 0))


_encode = _encoding()


def json_text(value: object) -> str:
    """Return compact strict JSON of the value.

    Raises:
        TypeError: the value holds something JSON has no form for.
        RecursionError: it is nested too deeply or holds itself.
    """
    try:
        text = _encode(value)
    except (ValueError, TypeError):
        text = _encode(_clean(value))
    return text if text.isascii() else _safe(text)


def text_json(text: str) -> str:
    """Return one text as a JSON string with its quotes, for templates. Its encoding to UTF-8 cannot fail."""
    quoted = encode_basestring(text)
    return quoted if quoted.isascii() else _safe(quoted)


def response_bytes(id: Id, result: JsonObject) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Return the frame of a successful response."""
    return f'{{"jsonrpc":"2.0","id":{_id_text(id)},"result":{json_text(result)}}}\n'.encode()


def error_bytes(id: Id, error: RpcError) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Return the frame of a failed response; `data` is left out when the error has none."""
    return f'{{"jsonrpc":"2.0","id":{_id_text(id)},"error":{json_text(error.as_json())}}}\n'.encode()


def request_bytes(id: int, method: str, params: JsonObject) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Return the frame of a request of ours."""
    return f'{{"jsonrpc":"2.0","id":{id},"method":{text_json(method)},"params":{json_text(params)}}}\n'.encode()


def notification_bytes(method: str, params: JsonObject) -> bytes:
    """Return the frame of a notification of ours."""
    return f'{{"jsonrpc":"2.0","method":{text_json(method)},"params":{json_text(params)}}}\n'.encode()


def whole_text(text: str) -> str:
    """Return the text with U+FFFD in the place of each lone surrogate; surrogates that form a pair are joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _id_text(ident: Id) -> str:
    if type(ident) is int:
        return str(ident)
    return text_json(ident) if isinstance(ident, str) else json_text(ident)


def _safe(text: str) -> str:
    """Repair JSON text in place: what is repaired occurs inside strings only."""
    for raw, escaped in _SEPARATORS:
        if raw in text:
            text = text.replace(raw, escaped)
    return whole_text(text)


def _clean(value: object) -> JsonValue:
    """Return a copy that the encoder takes: non-finite numbers and numbers beyond writing are null, keys are text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, int):
        return _writable(value)
    if isinstance(value, Mapping):
        return {str(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_clean(inner) for inner in value]
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def _writable(value: int) -> int | None:
    try:
        str(value)
    except ValueError:  # the interpreter's limit on the digits of an integer
        return None
    return value
