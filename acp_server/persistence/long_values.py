"""Texts that are too long for a line and lie beside the log (docs/log-format.md, clauses V-1 to V-7). Pure.

Owns which texts those are, what a line says instead, and the exact way back. Like a packed row it is storage: no event
shows it. How bytes get beside a log and back is `attachments`' matter; here they come from a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from acp_server.base.json_value import JsonValue
from acp_server.persistence.attachment_id import attachment_id, is_attachment_id
from acp_server.persistence.frames import PAYLOAD_LIMIT

KEY: Final = "attached"
"""The key of a line, never of an event, that lists what was taken out of its data."""

LONGEST: Final = 256 * 1024
"""Bytes of UTF-8 beyond which a text leaves its line."""

_REFERENCE_KEYS: Final = {"at", "attachmentId", "bytes"}

Beside: TypeAlias = dict[str, bytes]
"""What has to lie beside the log before a line is written: content by id."""

Fetch: TypeAlias = Callable[[str, int], bytes]
"""Returns the content of an id and a size, checked; raises NotBeside."""

Path: TypeAlias = tuple[str | int, ...]


class NotBeside(Exception):  # noqa: N818 - a finding about one file, turned into a report by `records` and `scan`
    """Bytes that a line names are missing or are not those; the text says which, as the end of a sentence."""


class Reference(NamedTuple):
    """A place in an event's data, and the id and number of the bytes of the text that belongs there."""

    at: Path
    ident: str
    size: int


def nothing_beside(ident: str, size: int) -> bytes:
    """Be the Fetch of a log that has nothing beside it."""
    _ = size
    raise NotBeside(f"{ident} is not there")


def may_be_long(line: str) -> bool:
    """Return whether a line could hold a text to take out; cheap, and true of few lines."""
    return len(line) > LONGEST // 4  # a character has at most four bytes


def take_out(envelope: Mapping[str, Any], beside: Beside) -> dict[str, Any] | None:
    """Return the envelope with its data's long texts replaced and listed, or None when it has none.

    What was taken out is added to `beside`.
    """
    references: list[JsonValue] = []
    data = _shortened(envelope["data"], (), references, beside)
    return {**envelope, "data": data, KEY: references} if references else None


def _shortened(value: Any, at: Path, references: list[JsonValue], beside: Beside) -> Any:
    if type(value) is str:
        return _short_text(value, at, references, beside)
    if isinstance(value, Mapping):
        return {key: _shortened(inner, (*at, key), references, beside) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(inner, (*at, place), references, beside) for place, inner in enumerate(value)]
    return value


def _short_text(text: str, at: Path, references: list[JsonValue], beside: Beside) -> str:
    if not may_be_long(text):
        return text
    content = text.encode()
    if len(content) <= LONGEST:
        return text
    ident = attachment_id(content)
    beside[ident] = content
    references.append({"at": at, "attachmentId": ident, "bytes": len(content)})
    return ""


def read_references(listed: object, data: object) -> list[Reference] | None:
    """Return what a line lists as taken out of its data; None when the list is malformed or does not fit the data."""
    if not isinstance(listed, list) or not listed:
        return None
    references = [_reference(one) for one in listed]
    fitting = [one for one in references if one is not None and _place(data, one.at) is not None]
    return fitting if len(fitting) == len(listed) == len({one.at for one in fitting}) else None


def _reference(listed: object) -> Reference | None:
    if not isinstance(listed, dict) or listed.keys() != _REFERENCE_KEYS:
        return None
    at, ident, size = listed["at"], listed["attachmentId"], listed["bytes"]
    if not isinstance(at, list) or not all(type(step) in (str, int) for step in at):
        return None
    if type(ident) is not str or not is_attachment_id(ident) or type(size) is not int:
        return None
    return Reference(tuple(at), ident, size) if 0 < size <= PAYLOAD_LIMIT else None


def _place(data: object, at: Path) -> tuple[Any, str | int] | None:
    """Return the object or list, and the key or index, of an empty text; None when there is none at this path."""
    holder: Any = None
    value: Any = data
    for step in at:
        holder = value
        if not _leads_on(holder, step):
            return None
        value = holder[step]
    return (holder, at[-1]) if at and value == "" else None


def _leads_on(holder: object, step: str | int) -> bool:
    if isinstance(holder, dict):
        return type(step) is str and step in holder
    return isinstance(holder, list) and type(step) is int and 0 <= step < len(holder)


def put_back(data: object, references: list[Reference], fetch: Fetch) -> None:
    """Put every text back in its place in decoded data; raise NotBeside for the first that cannot be had."""
    for reference in references:
        place = _place(data, reference.at)
        if place is not None:
            holder, last = place
            holder[last] = _text(fetch(reference.ident, reference.size), reference.ident)


def _text(content: bytes, ident: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise NotBeside(f"{ident} is no text") from None
