"""Which sessions lie below a root, told from their directories' names alone. Blocking; writes nothing.

Owns the way back from a path segment to an id (docs/log-format.md, clauses N-1 to N-6). Unlike a list it also finds
sessions whose log cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.header_frame import read_header
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import LogPlace, encode_segment
from acp_server.persistence.port import PersistenceError

_ENCODINGS: tuple[Encoding, ...] = ("zstd", "none")
_ESCAPES = re.compile(r"(?:~[0-9A-F]{4})+")
_CUT_MARK = "~~"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A log and whose it is; `id` is None when the name was cut and the header, which would tell, cannot be read."""

    id: SessionId | None
    place: LogPlace


def stored_sessions(io: LogIo, root: str, prefix: str = "") -> list[StoredSession]:
    """Return the logs whose session's id begins with `prefix`, by id; those without one only for the empty prefix.

    Raises:
        PersistenceError: DISK_FAILED, SESSION_READ_ONLY (permission), when the root cannot be read.
    """
    try:
        found = list(_matching(io, root, prefix))
    except OSError as error:
        raise disk_error(error, root) from error
    return sorted(found, key=lambda stored: (stored.id or "", stored.place.path))


def _matching(io: LogIo, root: str, prefix: str) -> Iterator[StoredSession]:
    for project in _names(io, root):
        for segment in _names(io, f"{root}/{project}"):
            ident = decode_segment(segment)
            if ident is not None and not ident.startswith(prefix):
                continue
            for place in _logs(io, root, project, segment):
                whose = ident if ident is not None else _id_by_header(io, place)
                if (whose or "").startswith(prefix):
                    yield StoredSession(None if whose is None else SessionId(whose), place)


def decode_segment(segment: str) -> str | None:
    """Return the id that `encode_segment` made the segment of; None when it was cut, or made by somebody else."""
    if _CUT_MARK in segment:
        return None
    text = _ESCAPES.sub(_unescape, segment)
    return text if text and encode_segment(text) == segment else None


def _unescape(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("~", "")).decode("utf-16-be", "surrogatepass")


def _id_by_header(io: LogIo, place: LogPlace) -> str | None:
    try:
        return read_header(io, place.path, place.encoding)[0].id
    except (PersistenceError, OSError):
        return None


def _names(io: LogIo, path: str) -> list[str]:
    try:
        return [name for name in io.list_dir(path) if not name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _logs(io: LogIo, root: str, project: str, segment: str) -> Iterator[LogPlace]:
    for encoding in _ENCODINGS:
        place = LogPlace(root, project, segment, encoding)
        try:
            io.facts(place.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield place
