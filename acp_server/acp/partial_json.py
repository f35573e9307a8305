"""The arguments of a call while they still stream: what of a JSON object is there already. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, Final

LONGEST: Final = 2000
"""Characters of a text that are shown while it streams."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_CLOSERS: Final = {"{": "}", "[": "]"}


def partial_object(text: str) -> dict[str, Any] | None:
    """Return the members that have come so far, the last text as far as it goes; None while there is none.

    A key without a value, and a number or word that may go on, are left out.
    """
    try:
        value = json.loads(_closed(text))
    except (ValueError, RecursionError):
        return None
    return {key: _cut(inner) for key, inner in value.items()} if isinstance(value, dict) and value else None


def _closed(text: str) -> str:
    """Return the longest beginning that can be closed, closed."""
    stack: list[str] = []
    whole, waiting = "", ""
    last = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSERS:
            stack.append(_CLOSERS[token])
            whole, waiting = whole + waiting + token, ""
        elif token in ("}", "]"):
            if not stack or stack.pop() != token:
                return ""
            whole, waiting = whole + waiting + token, ""
        elif token in (",", ":"):
            waiting += token
        elif token.startswith('"'):
            is_value = last in (":", "[") or (last == "," and stack[-1:] == ["]"])
            if is_value:
                whole, waiting = whole + waiting + _ended(token), ""
            else:
                waiting += token
        elif match.end() < len(text):
            whole, waiting = whole + waiting + token, ""
        last = token
    return whole + "".join(reversed(stack))


def _ended(token: str) -> str:
    """Return a text with its quote, without an escape that is not whole."""
    if len(token) > 1 and token.endswith('"') and not re.search(r'(?<!\\)(?:\\\\)*\\"\Z', token):
        return token
    kept = re.sub(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z", r"\1", token)
    return kept + '"'


def _cut(value: Any) -> Any:
    return f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value
