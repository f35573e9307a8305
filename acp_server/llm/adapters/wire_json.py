"""JSON from a model server: read leniently, and made fit for a strict log (docs/llm.md, clauses W-1 to W-3).

Owns what becomes of values that JSON text can hold and the log cannot: halves of surrogate pairs are U+FFFD, NaN and
infinities are null, integers beyond 2^53 - 1 are text, and what lies deeper than MAX_DEPTH is null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from acp_server.base.json_value import MAX_DEPTH, SAFE_INTEGER, JsonValue

_DECODER: Final = json.JSONDecoder(parse_constant=lambda _name: None)
REPLACEMENT: Final = "\ufffd"


def parse(text: str) -> Any:
    """Return the value; NaN and infinities are None.

    Raises:
        ValueError: the text is no JSON, is nested too deeply, or has a number of thousands of digits.
    """
    try:
        if text.startswith("{"):  # saves the search for white space around the value
            value, end = _DECODER.raw_decode(text)
            if end == len(text):
                return value
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def joined_pairs(text: str) -> str:
    """Return the text with surrogate pairs joined to characters and lone halves replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: object, depth: int = 0) -> JsonValue:
    """Return a copy that the log and a strict encoder accept; see the module's rule."""
    kind = type(value)
    if value is None or kind is bool:
        return value  # type: ignore[return-value]  # None or a bool
    if kind is str:
        return joined_pairs(value)  # type: ignore[arg-type]  # its exact type is str
    if kind is int:
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)  # type: ignore[operator,return-value]
    if kind is float:
        return value if isfinite(value) else None  # type: ignore[arg-type,return-value]  # its exact type is float
    if depth < MAX_DEPTH // 2 and isinstance(value, Mapping):
        return {joined_pairs(str(key)): clean(item, depth + 1) for key, item in value.items()}
    if depth < MAX_DEPTH // 2 and isinstance(value, list | tuple):
        return [clean(item, depth + 1) for item in value]
    return None


def text(value: object) -> str:
    """Return the value when it is text, else the empty string."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """Return the value when it is a number of tokens, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= SAFE_INTEGER else None


def amount(value: object) -> float | None:
    """Return the value when it is an amount of money, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < SAFE_INTEGER:
        return None
    return float(value)


def record(value: object) -> Mapping[str, Any]:
    """Return the value when it is an object, else an empty one."""
    if type(value) is dict:  # asking an abstract class costs more than the rest of a delta
        return value
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> Sequence[Any]:
    """Return the value when it is an array, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()
