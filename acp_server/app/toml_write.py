"""Values as TOML writes them. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from acp_server.app.toml_lines import key_text


def toml_value(given: object) -> str:
    """Return a value on one line: text, a number, true or false, a list, or an inline table.

    Raises:
        ValueError: TOML has no word for it.
    """
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str):
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, int | float):
        return repr(given)
    if isinstance(given, list | tuple):
        return f"[{', '.join(map(toml_value, given))}]"
    if isinstance(given, Mapping):
        inner = ", ".join(f"{key_text(str(key))} = {toml_value(part)}" for key, part in given.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise ValueError(f"TOML cannot say {type(given).__name__}")
