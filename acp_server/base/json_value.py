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
MAX_DEPTH = 512


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


def freeze(value: object, path: str = "$") -> JsonValue:
    """Return a deeply immutable copy of a JSON value: objects as FrozenObject, arrays as tuples.

    A FrozenObject is returned as it is, since only this function builds one.

    Raises:
        JsonError: NaN, an infinity, an integer beyond 2^53 - 1, a lone surrogate, a key that is no string,
            a value of another type, or nesting deeper than MAX_DEPTH (a cycle included).
    """
    return _freeze(value, path, 0)


def _freeze(value: object, path: str, depth: int) -> JsonValue:
    kind = type(value)
    if kind is str:
        return _text(value, path)  # type: ignore[arg-type]  # its exact type is str
    if value is None or kind is bool or kind is FrozenObject:
        return value  # type: ignore[return-value]  # one of the three
    if kind is int:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:  # type: ignore[operator]  # its exact type is int
            return value  # type: ignore[return-value]  # its exact type is int
        raise JsonError(path, "the integer is too large to be read back exactly")
    if depth >= MAX_DEPTH:
        raise JsonError(path, "the value is nested too deeply")
    if isinstance(value, dict):
        return FrozenObject({_key(k, path): _freeze(v, f"{path}.{k}", depth + 1) for k, v in value.items()})
    if isinstance(value, list | tuple):
        return tuple(_freeze(v, f"{path}[{n}]", depth + 1) for n, v in enumerate(value))
    if kind is float:
        return _number(value, path)  # type: ignore[arg-type]  # its exact type is float
    raise JsonError(path, f"a value of type {kind.__name__} is no JSON")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise JsonError(path, "the text holds half of a surrogate pair") from None
    return value


def _number(value: float, path: str) -> float:
    if not isfinite(value):
        raise JsonError(path, "NaN and infinities are no JSON")
    return 0.0 if value == 0 else value


def _key(key: object, path: str) -> str:
    if type(key) is not str:
        raise JsonError(path, f"the key {key!r} is no text")
    return _text(key, path)
