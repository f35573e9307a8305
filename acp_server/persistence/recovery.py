"""Opening a stored log (docs/log-format.md, clauses C-1 to C-8). Blocking.

Owns what happens between finding a file and having a session: the torn end is set aside and cut, an interrupted turn
is closed, damage is named. `look` never writes. Each step of `recover` can be cut short by a crash and repeated.
"""

from __future__ import annotations

from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.attachments import fetch_from, put_attachments
from acp_server.persistence.disk_errors import RETRIED, disk_error
from acp_server.persistence.io_port import LogIo, read_all, write_all
from acp_server.persistence.journal import TEMPORARY, Journal
from acp_server.persistence.long_values import Beside
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import TORN_PREFIX, LogPlace
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.records import encode_events
from acp_server.persistence.scan import Damage, Scan, scan_log
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.repair import closing_events

TORN_NOTICE: Final = (
    "The end of this session's log was cut off by a crash: what came after event {last} is not part of the session. "
    "Its {size} bytes are kept in {name}."
)

EMPTY_NOTICE: Final = "This session's log holds no event, and none is stored without: all that was said in it is lost."


class Found:
    """A log as it was found: `scan` of its `data`, the events, and what the person has to be told.

    Of the events of `log`, `stored` are in the file; closers that the disk did not take yet are the others.
    """

    __slots__ = ("data", "header", "log", "notices", "place", "read_only", "scan", "stored")

    def __init__(self, place: LogPlace, header: SessionHeader, scan: Scan, data: bytes) -> None:
        self.place = place
        self.header = header
        self.scan = scan
        self.data = data
        self.log = PackedLog(scan.entries)
        self.stored = scan.next_seq
        self.notices: list[str] = []
        self.read_only: str | None = None


def look(io: LogIo, place: LogPlace, session_id: SessionId) -> Found:
    """Return what a log holds, without writing. Damage after the header is left in `scan.damage`.

    Raises:
        PersistenceError: SESSION_NOT_FOUND, DISK_FAILED; SESSION_CORRUPT when the header cannot be read or is another
            session's; SESSION_UNSUPPORTED for another version or a required type that is not known.
    """
    try:
        data = read_all(io, place.path)
    except FileNotFoundError:
        raise _not_found(session_id) from None
    except OSError as error:
        raise disk_error(error, place.path) from error
    scan = scan_log(data, place.encoding, fetch_from(io, place.directory))
    damage = scan.damage
    if scan.header is None or (damage is not None and damage.kind == "unsupported"):
        raise damage_error(place, damage or Damage("corrupt", 0, -1, "the header cannot be read"))
    if scan.header.id != session_id:
        reason = f"it belongs to the session {scan.header.id}"
        raise damage_error(place, Damage("corrupt", 0, -1, reason))
    if damage is not None and damage.kind == "corrupt":
        _require_present(io, place, session_id)
    found = Found(place, scan.header, scan, data)
    if damage is None and not scan.spans:
        found.notices.append(EMPTY_NOTICE)
    return found


def _require_present(io: LogIo, place: LogPlace, session_id: SessionId) -> None:
    """Refuse a log that was deleted while it was read: what lay beside it went with it, and that is no damage."""
    try:
        io.facts(place.path)
    except FileNotFoundError:
        raise _not_found(session_id) from None
    except OSError as error:
        raise disk_error(error, place.path) from error


def _not_found(session_id: SessionId) -> PersistenceError:
    return PersistenceError("SESSION_NOT_FOUND", f"No session {session_id} is stored.")


def damage_error(place: LogPlace, damage: Damage) -> PersistenceError:
    """Return SESSION_CORRUPT or SESSION_UNSUPPORTED with file, offset and last good seq."""
    facts: dict[str, str | int | bool | None] = {
        "file": place.path,
        "offset": damage.offset,
        "lastSeq": damage.last_seq,
    }
    if damage.kind == "unsupported":
        return PersistenceError("SESSION_UNSUPPORTED", f"The session cannot be opened: {damage.reason}.", facts)
    return PersistenceError("SESSION_CORRUPT", damage_text(place, damage), facts)


def damage_text(place: LogPlace, damage: Damage) -> str:
    """Return the sentence about a damaged log."""
    good = f"up to event {damage.last_seq}" if damage.last_seq >= 0 else "not at all"
    return (
        f"The session's log {place.path} is damaged at byte {damage.offset} ({damage.reason}); it can be read {good}. "
        "Nothing was changed; what is readable can be saved as another session."
    )


def recover(io: LogIo, found: Found, journal: Journal) -> None:
    """Make a log that was found under its lock ready for `journal`: cut a torn end, close an interrupted turn.

    When the disk refuses for good, `found.read_only` says why and the closers stand in memory only; when it may take
    them later, `found.stored` leaves them out.

    Raises:
        PersistenceError: SESSION_CORRUPT.
    """
    if found.scan.damage is not None and found.scan.damage.kind == "corrupt":
        raise damage_error(found.place, found.scan.damage)
    ending = closing_events(found.log)
    try:
        _open_journal(io, found, journal)
        if ending:
            _commit(io, found.place, journal, ending)
            found.stored += len(ending)
    except OSError as error:
        found.read_only = disk_error(error, found.place.path).message
    except PersistenceError as error:
        if error.code not in RETRIED:
            found.read_only = error.message
    add_closers(found, ending)


def _commit(io: LogIo, place: LogPlace, journal: Journal, events: list[SessionEvent]) -> None:
    beside: Beside = {}
    lines = encode_events(events, beside)
    if beside:
        put_attachments(io, place.directory, beside)
    journal.commit(lines)


def add_closers(found: Found, ending: list[SessionEvent]) -> None:
    """Take the closers into the log in memory and tell of the interrupted turn."""
    for event in ending:
        found.log.append(event)
    if ending:
        found.notices.append("The last turn was interrupted when the server stopped; it has been closed.")


def _open_journal(io: LogIo, found: Found, journal: Journal) -> None:
    """Cut what is torn and make durable what was read: a killed process may have left bytes that were never synced."""
    place, good = found.place, found.scan.good_length
    _forget_temporary(io, place)
    handle = io.open(place.path, "write")
    try:
        if good < len(found.data):
            name = _set_aside(io, place, found.data[good:])
            io.truncate(handle, good)
            io.sync(handle)
            last, size = found.scan.next_seq - 1, len(found.data) - good
            found.notices.append(TORN_NOTICE.format(last=last, size=size, name=name))
        else:
            io.sync(handle)
        io.sync_dir(place.directory)
    except OSError:
        io.close(handle)
        raise
    journal.resume(handle, good)


def _set_aside(io: LogIo, place: LogPlace, torn: bytes) -> str:
    """Keep the torn end in a file of its own, durably, and return its name; once is enough for the same bytes."""
    names = io.list_dir(place.directory)
    numbers = [int(name[len(TORN_PREFIX) :]) for name in names if _is_torn_name(name)]
    last = max(numbers, default=0)
    if last and read_all(io, f"{place.directory}/{TORN_PREFIX}{last}") == torn:
        return f"{TORN_PREFIX}{last}"
    name = f"{TORN_PREFIX}{last + 1}"
    temporary = f"{place.directory}/{TEMPORARY}"
    handle = io.open(temporary, "create")
    try:
        write_all(io, handle, torn, 0)
        io.sync(handle)
    finally:
        io.close(handle)
    io.rename(temporary, f"{place.directory}/{name}")
    io.sync_dir(place.directory)
    return name


def _is_torn_name(name: str) -> bool:
    return name.startswith(TORN_PREFIX) and name[len(TORN_PREFIX) :].isdecimal()


def _forget_temporary(io: LogIo, place: LogPlace) -> None:
    try:
        io.unlink(f"{place.directory}/{TEMPORARY}")
    except OSError:
        return
