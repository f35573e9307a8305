"""JSON values that survive a round trip unchanged, and their frozen form.

Owns the rule of what may enter a session log: docs/log-format.md, clause L-JSON. Does not encode or decode text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NoReturn, TypeAlias

from acp_server.base.errors import ServerError

JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
JsonObject: TypeAlias = Mapping[str, JsonValue]

SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 256


class JsonError(ServerError):
    """A value that JSON cannot hold without loss; `path` names the place, for instance `$.chunk.text`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__("INVALID_JSON_VALUE", f"{path}: {reason}")
        self.path = path


class FrozenObject(dict[str, JsonValue]):
    """A JSON object that refuses every change. It is a `dict`, so the C encoder writes it at full speed."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a frozen JSON object cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """A value that may not enter; `steps` is the way to it, innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []


def freeze(value: object, path: str = "$") -> JsonValue:
    """Return a deeply immutable copy of a JSON value: objects as FrozenObject, arrays as tuples.

    A FrozenObject is returned as it is, since only this function builds one.

    Raises:
        JsonError: NaN, an infinity, an integer beyond 2^53 - 1, a lone surrogate, a key that is no string,
            a value of another type, or nesting deeper than MAX_DEPTH (a cycle included).
    """
    try:
        return _freeze(value, 0)
    except _Refused as refusal:
        steps = "".join(reversed(refusal.steps)).encode(errors="backslashreplace").decode()
        raise JsonError(path + steps, refusal.reason) from None


def _freeze(value: object, depth: int) -> JsonValue:
    # One call for each delta's each field: the commonest kinds come first, and the way is told only on refusal.
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)  # type: ignore[attr-defined,return-value,arg-type]  # a str
    if kind is int:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:  # type: ignore[operator]  # its exact type is int
            return value  # type: ignore[return-value]  # its exact type is int
        raise _Refused("the integer is too large to be read back exactly")
    if value is None or kind is bool or kind is FrozenObject:
        return value  # type: ignore[return-value]  # one of the three
    if depth >= MAX_DEPTH:
        raise _Refused("the value is nested too deeply")
    if isinstance(value, dict):
        return _object(value, depth + 1)
    if isinstance(value, list | tuple):
        return _array(value, depth + 1)
    if kind is float:
        return _number(value)  # type: ignore[arg-type]  # its exact type is float
    raise _Refused(f"a value of type {kind.__name__} is no JSON")


def _object(value: dict[object, object], depth: int) -> FrozenObject:
    frozen: dict[str, JsonValue] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise _Refused(f"the key {key!r} is no text")
        try:
            frozen[key if key.isascii() else _text(key)] = _freeze(item, depth)
        except _Refused as refusal:
            refusal.steps.append(f".{key}")
            raise
    return FrozenObject(frozen)


def _array(value: Sequence[object], depth: int) -> tuple[JsonValue, ...]:
    frozen: list[JsonValue] = []
    try:
        for item in value:
            frozen.append(_freeze(item, depth))  # noqa: PERF401 - its length names the refused place
    except _Refused as refusal:
        refusal.steps.append(f"[{len(frozen)}]")
        raise
    return tuple(frozen)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Refused("the text holds half of a surrogate pair") from None
    return value


def _number(value: float) -> float:
    if not isfinite(value):
        raise _Refused("NaN and infinities are no JSON")
    return 0.0 if value == 0 else value
