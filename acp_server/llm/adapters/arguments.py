"""A call's arguments for the way back to a provider, which refuses what is no JSON object.

The log keeps the raw text; the tool's error result tells the model what was wrong with it.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapters.wire_json import clean, parse


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_STRICT: Final = json.JSONDecoder(parse_constant=_refuse)


def argument_text(raw: str) -> str:
    """Return the raw text when it is a strict JSON object, else the nearest one: `{}` when there is none."""
    try:
        value = _STRICT.decode(raw)
    except (ValueError, RecursionError):
        return json.dumps(argument_object(raw), ensure_ascii=False)
    if type(value) is not dict:
        return "{}"
    if "\\u" in raw and (cleaned := clean(value)) != value:
        return json.dumps(cleaned, ensure_ascii=False)
    return raw


def argument_object(raw: str) -> dict[str, JsonValue]:
    """Return the arguments as an object that can be written as strict JSON; empty when they are none."""
    try:
        value: Any = parse(raw)
    except ValueError:
        return {}
    cleaned = clean(value)
    return cleaned if isinstance(cleaned, dict) else {}
