"""What is done with a root directory's sessions, one blocking call a verb (docs/log-format.md, clauses C and O).

Owns the order of finding, locking, reading and repairing. Keeps no state: what is held is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.values import value
from acp_server.persistence.attachment_check import lost_attachment
from acp_server.persistence.attachments import fetch_from
from acp_server.persistence.batches import Encoding
from acp_server.persistence.catalog_db import Row
from acp_server.persistence.child import child_header, inherited_batches
from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.header_frame import read_header
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.lock import Owner, take_lock
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import LogPlace, encode_segment, project_key
from acp_server.persistence.places import find_place, move_to_trash
from acp_server.persistence.port import LoadedSession, PersistenceError, SalvageReport, VerifyReport
from acp_server.persistence.recovery import Found, add_closers, damage_error, damage_text, look, recover
from acp_server.persistence.rows import PackedRow
from acp_server.persistence.scan import Damage, later_entries
from acp_server.persistence.suffix import read_suffix
from acp_server.persistence.summary import SHOWN_TYPES, summarize
from acp_server.persistence.sweeping import Swept, sweep
from acp_server.persistence.trash import Emptied, empty_trash
from acp_server.session.events import SessionEvent
from acp_server.session.fork import fork_boundary
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog
from acp_server.session.repair import closing_events

CatalogPage: TypeAlias = tuple[list[Row], bool, list[Row]]


@value
class Store:
    """A root, how new logs in it are written, and who writes them."""

    io: LogIo
    root: str
    encoding: Encoding
    owner: Owner

    def place_of(self, session_id: SessionId) -> LogPlace:
        """Return where a stored session is; raises PersistenceError SESSION_NOT_FOUND, SESSION_CORRUPT, DISK_FAILED."""
        place = self._find(session_id)
        if place is None:
            raise PersistenceError("SESSION_NOT_FOUND", f"No session {session_id} is stored.")
        return place

    def require_absent(self, session_id: SessionId) -> None:
        """Raise PersistenceError SESSION_ALREADY_EXISTS when the id is stored."""
        if self._find(session_id) is not None:
            raise PersistenceError("SESSION_ALREADY_EXISTS", f"A session {session_id} is stored already.")

    def fresh(self, header: SessionHeader) -> HeldSession:
        """Return a session that is not on disk yet; touches nothing."""
        place = LogPlace(self.root, project_key(header.cwd), encode_segment(header.id), self.encoding)
        return HeldSession(self.io, place, header, self.owner, fresh=True)

    def open(self, session_id: SessionId) -> tuple[HeldSession, LoadedSession]:
        """Lock, read and repair a stored session; raises as `SessionPersistence.prepare`."""
        place = self.place_of(session_id)
        files = HeldSession(self.io, place, self._header(place, session_id), self.owner, fresh=False)
        try:
            reason = _lock_reason(files)
            found = look(self.io, place, session_id)
            if reason is None:
                recover(self.io, found, files.journal)
            else:
                _open_read_only(found, reason)
        except BaseException:
            files.release()
            raise
        files.read_only, files.stored, files.spans = found.read_only, found.stored, found.scan.spans
        files.summary = summarize(found.log.of_types(SHOWN_TYPES), len(found.log))
        return files, LoadedSession(found.header, found.log, tuple(found.notices), found.read_only)

    def inspect(self, session_id: SessionId) -> LoadedSession:
        """Read a stored session; raises as `SessionPersistence.inspect`."""
        found = look(self.io, self.place_of(session_id), session_id)
        _open_read_only(found, "The session was opened for reading only.")
        return LoadedSession(found.header, found.log, tuple(found.notices), found.read_only)

    def suffix(self, session_id: SessionId, seq: int) -> PackedLog:
        """Return stored events from `seq` on, and perhaps some before."""
        return read_suffix(self.io, self.place_of(session_id), session_id, seq)

    def delete(self, session_id: SessionId) -> LogPlace | None:
        """Move a stored session to the trash and return where it was; None when it is not stored."""
        place = self._find(session_id)
        if place is None:
            return None
        try:
            handle = take_lock(self.io, place.directory, self.owner)
            try:
                move_to_trash(self.io, place)
            finally:
                self.io.close(handle)
        except OSError as error:
            raise disk_error(error, place.directory) from error
        return place

    def sweep(self, session_id: SessionId) -> Swept:
        """Remove what lies beside a stored session's log and nothing names, while nobody has it open.

        Raises:
            PersistenceError: SESSION_NOT_FOUND, SESSION_BUSY, SESSION_CORRUPT, SESSION_UNSUPPORTED, DISK_FAILED.
        """
        place = self.place_of(session_id)
        try:
            handle = take_lock(self.io, place.directory, self.owner)
            try:
                return sweep(self.io, place, session_id)
            finally:
                self.io.close(handle)
        except OSError as error:
            raise disk_error(error, place.directory) from error

    def empty_trash(self, before_ns: int) -> Emptied:
        """Remove for good what was deleted before that moment; raise PersistenceError DISK_FAILED."""
        try:
            return empty_trash(self.io, self.root, before_ns)
        except OSError as error:
            raise disk_error(error, self.root) from error

    def fork(
        self, source: SessionId, live: tuple[EventLog, int] | None, header: SessionHeader, boundary: int | None
    ) -> tuple[HeldSession, LoadedSession]:
        """Store a child; `live` is the source's log and length when it is open here. Raises as the port's `fork`."""
        self.require_absent(header.id)
        log = self._cold(source) if live is None else copy_of(*live)
        try:
            length = fork_boundary(log, boundary)
        except ServerError as error:
            raise PersistenceError(error.code, error.message) from error
        child = child_header(header, source, length)
        place = self._find(source)
        files = self.fresh(child)
        events = list(islice(log.since(0), length))
        self.write_child(files, events, None if place is None else place.directory)
        return files, LoadedSession(child, PackedLog(events))

    def verify(self, session_id: SessionId) -> VerifyReport:
        """Read every byte; raises PersistenceError SESSION_NOT_FOUND, DISK_FAILED."""
        try:
            found = look(self.io, self.place_of(session_id), session_id)
        except PersistenceError as error:
            if error.code not in ("SESSION_CORRUPT", "SESSION_UNSUPPORTED"):
                raise
            return VerifyReport(
                sound=False,
                events=0,
                last_seq=_number(error, "lastSeq"),
                offset=_number(error, "offset"),
                problem=error.message,
            )
        scan, damage = found.scan, found.scan.damage
        problem = None if damage is None else f"{damage.kind} at byte {damage.offset}: {damage.reason}"
        problem = problem or lost_attachment(self.io, found.place.directory, found.log)
        return VerifyReport(problem is None, scan.next_seq, scan.next_seq - 1, scan.good_length, problem)

    def salvage(self, session_id: SessionId, header: SessionHeader) -> SalvageReport:
        """Store the readable start of a damaged log under another header; raises as the port's `salvage`."""
        self.require_absent(header.id)
        found = look(self.io, self.place_of(session_id), session_id)
        if not len(found.log):
            empty = Damage("corrupt", found.scan.good_length, -1, "it holds no event")
            raise damage_error(found.place, found.scan.damage or empty)
        add_closers(found, closing_events(found.log))
        files = self.fresh(child_header(header, session_id, len(found.log)))
        try:
            self.write_child(files, list(found.log.since(0)), found.place.directory)
        finally:
            files.release()
        return SalvageReport(header.id, len(found.log), tuple(_lost(self.io, found)))

    def write_child(self, files: HeldSession, events: list[SessionEvent], source: str | None) -> None:
        """Write a child's log, inherited attachments first; without events it stays unwritten like any session."""
        if not events:
            return
        try:
            if source is not None:
                files.inherit_attachments(source)
            files.create(list(inherited_batches(events)))
        except OSError as error:
            files.release()
            raise disk_error(error, files.place.directory) from error
        except BaseException:
            files.release()
            raise
        files.summary = summarize(events, len(events))

    def _cold(self, session_id: SessionId) -> EventLog:
        found = look(self.io, self.place_of(session_id), session_id)
        if found.scan.damage is not None and found.scan.damage.kind == "corrupt":
            raise damage_error(found.place, found.scan.damage)
        add_closers(found, closing_events(found.log))
        return found.log

    def _header(self, place: LogPlace, session_id: SessionId) -> SessionHeader:
        try:
            return read_header(self.io, place.path, place.encoding)[0]
        except FileNotFoundError:
            raise PersistenceError("SESSION_NOT_FOUND", f"No session {session_id} is stored.") from None

    def _find(self, session_id: SessionId) -> LogPlace | None:
        try:
            return find_place(self.io, self.root, session_id)
        except OSError as error:
            raise disk_error(error, self.root) from error


def copy_of(log: EventLog, length: int) -> PackedLog:
    """Return the first events of a log that may grow meanwhile."""
    return PackedLog(islice(log.since(0), length))


def _lock_reason(files: HeldSession) -> str | None:
    """Take the lock; return why it cannot be had here at all, which leaves reading."""
    try:
        files.lock()
    except OSError as error:
        return disk_error(error, files.place.directory).message
    except PersistenceError as error:
        if error.code != "LOCK_UNSUPPORTED":
            raise
        return error.message
    return None


def _open_read_only(found: Found, reason: str) -> None:
    found.read_only = reason
    damage = found.scan.damage
    if damage is not None and damage.kind == "corrupt":
        found.read_only = damage_text(found.place, damage)
        found.notices.append(found.read_only)
    elif damage is not None:
        left = len(found.data) - found.scan.good_length
        found.notices.append(f"The last {left} bytes of the log are not whole and were left out.")
    add_closers(found, closing_events(found.log))


def _lost(io: LogIo, found: Found) -> Iterator[str]:
    damage = found.scan.damage
    if damage is None:
        return
    fetch = fetch_from(io, found.place.directory)
    yield f"From byte {damage.offset} on, after event {damage.last_seq}: {damage.reason}."
    for offset, entries in later_entries(found.data, found.place.encoding, found.scan, fetch):
        first, last = entries[0], entries[-1]
        start = first.seq0 if isinstance(first, PackedRow) else first.seq
        end = last.seq0 + last.count - 1 if isinstance(last, PackedRow) else last.seq
        yield f"Events {start} to {end} at byte {offset} are readable, but what they follow is missing."


def _number(error: PersistenceError, name: str) -> int:
    value = error.data.get(name)
    return value if isinstance(value, int) else -1
