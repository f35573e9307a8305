"""Where a session of a given id is below a root. Blocking; writes nothing."""

from __future__ import annotations

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import TRASH_NAME, LogPlace, encode_segment
from acp_server.persistence.port import PersistenceError

_ENCODINGS: tuple[Encoding, ...] = ("zstd", "none")


def find_place(io: LogIo, root: str, session_id: SessionId) -> LogPlace | None:
    """Return the place of a stored session, in whichever project and encoding it is; None when there is none.

    Raises:
        PersistenceError: SESSION_CORRUPT when two logs claim the id.
        OSError: the root cannot be read.
    """
    segment = encode_segment(session_id)
    try:
        projects = [name for name in io.list_dir(root) if not name.startswith(".")]
    except FileNotFoundError:
        return None
    found = [
        place
        for project in projects
        for encoding in _ENCODINGS
        if _is_there(io, place := LogPlace(root, project, segment, encoding))
    ]
    if len(found) > 1:
        message = f"Two logs claim the session {session_id}: {found[0].path} and {found[1].path}."
        raise PersistenceError("SESSION_CORRUPT", message, {"file": found[0].path, "offset": 0, "lastSeq": -1})
    return found[0] if found else None


def move_to_trash(io: LogIo, place: LogPlace) -> None:
    """Move a session's directory out of sight, keeping every byte; raises OSError."""
    trash = f"{place.root}/{TRASH_NAME}"
    if io.make_dir(trash):
        io.sync_dir(place.root)
    names = set(io.list_dir(trash))
    number = 1
    while (name := f"{place.segment}.{number}") in names:
        number += 1
    io.rename(place.directory, f"{trash}/{name}")
    io.sync_dir(f"{place.root}/{place.project}")
    io.sync_dir(trash)


def _is_there(io: LogIo, place: LogPlace) -> bool:
    try:
        io.facts(place.path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
