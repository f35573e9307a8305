"""Reading and changing one key of a settings text, comments and order kept. Pure.

Owns the smallest edit: the span of one value, or one line more. Whatever cannot be said so is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from acp_server.app.toml_lines import Statement, key_text, statements
from acp_server.app.toml_write import toml_value
from acp_server.base.errors import ServerError


def value_at(document: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the value that the keys lead to, or None."""
    found: Any = document
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def parse_value(words: str) -> Any:
    """Return a value as TOML writes it; what is no TOML is text itself."""
    try:
        return tomllib.loads(f"value = {words}\n")["value"] if "\n" not in words else words
    except tomllib.TOMLDecodeError:
        return words


def edited(text: str, keys: Sequence[str], given: Any) -> str:
    """Return the text with the key set to the value, and nothing else changed.

    Raises:
        ServerError: CANNOT_EDIT, the value or the place cannot be said by a change of one line.
    """
    path = tuple(keys)
    before = tomllib.loads(text)
    try:
        new = toml_value(given)
    except ValueError as error:
        raise ServerError("CANNOT_EDIT", f"The value cannot be written: {error}.") from error
    known = list(statements(text))
    old = next((one for one in known if one.path == path and not one.header), None)
    changed = text[: old.start] + new + text[old.end :] if old is not None else _added(text, known, path, new)
    if not _is_exactly(changed, before, path, given):
        name = ".".join(map(key_text, path))
        raise ServerError("CANNOT_EDIT", f"{name} cannot be set by a change of one line; edit the file.")
    return changed


def _added(text: str, known: Sequence[Statement], path: tuple[str, ...], new: str) -> str:
    line = f"{key_text(path[-1])} = {new}\n"
    table = path[:-1]
    if not table:
        first = next((one.start for one in known if one.header), len(text))
        head = text[:first]
        return _ended(head.rstrip()) + line + ("\n" if first < len(text) else "") + text[first:]
    header = next((at for at, one in enumerate(known) if one.header and one.path == table), None)
    if header is None:
        gap = "\n" if text.strip() else ""
        return f"{_ended(text)}{gap}[{'.'.join(map(key_text, table))}]\n{line}"
    last = header
    while last + 1 < len(known) and not known[last + 1].header:
        last += 1
    end = text.find("\n", known[last].end)
    at = len(text) if end < 0 else end + 1
    return _ended(text[:at]) + line + text[at:]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _is_exactly(text: str, before: dict[str, Any], path: tuple[str, ...], given: Any) -> bool:
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    wanted: Any = before
    for key in path[:-1]:
        if not isinstance(wanted, dict):
            return False
        wanted = wanted.setdefault(key, {})
    if not isinstance(wanted, dict):
        return False
    wanted[path[-1]] = given
    return after == before
