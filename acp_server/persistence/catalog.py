"""The list of stored sessions (docs/log-format.md, clauses X-4 to X-8). Blocking; safe from several threads.

Owns keeping the rows true without reading logs: new and vanished sessions show in directories' times, changed ones in
the files of the page that is asked for. The logs are the authority: rows are made from their headers and can be lost.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.persistence import catalog_db as db
from acp_server.persistence.catalog_db import CatalogDb, Row, Wanted
from acp_server.persistence.io_port import FileFacts, LogIo
from acp_server.persistence.paths import CATALOG_NAME, LOG_NAMES, LogPlace, encode_segment, project_key
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.summary import Summary
from acp_server.session.header import SessionHeader

if TYPE_CHECKING:
    from acp_server.persistence.batches import Encoding

SETTLED_NS: Final = 2_000_000_000
"""A directory changed more recently than this may change again within the same tick of its time."""

IN_MEMORY_NS: Final = 30_000_000_000
"""How long the rows live in memory when the file could not be used, for instance because others were busy with it."""

RECHECKED: Final = 200
_ROUNDS: Final = 3
_ENCODINGS: Final[tuple[Encoding, ...]] = ("zstd", "none")
_Result = TypeVar("_Result")


class Catalog:
    """Rows of every session below one root."""

    def __init__(self, io: LogIo, root: str, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._io = io
        self._root = root
        self._now_ns = now_ns
        self._path = f"{root}/{CATALOG_NAME}"
        self._db = CatalogDb(self._path)
        self._in_memory_until: int | None = None
        self._guard = Lock()

    def page(
        self, cwd: str | None, after: tuple[int, str] | None, limit: int, origin: str | None = None
    ) -> tuple[list[Row], bool, list[Row]]:
        """Return the rows of a page, whether more follow, and, for a first page, what cannot be listed."""
        try:
            self._io.facts(self._root)
        except FileNotFoundError:
            return [], False, []
        return self._with_db(lambda connection: self._page(connection, (cwd, origin), after, limit))

    def note(self, place: LogPlace, header: SessionHeader, summary: Summary, facts: FileFacts | None = None) -> None:
        """Remember what is known of a session that this process has read, when its file had `facts`, or written."""
        with suppress(OSError):
            row = _good_row(place, header, facts or self._io.facts(place.path), summary.events == 0)
            row = replace(row, title=summary.title, turns=summary.turns, events=summary.events)
            self._with_db(lambda connection: db.put_rows(connection, [row]))

    def forget(self, place: LogPlace) -> None:
        """Drop the row of a session that was moved away."""
        self._with_db(lambda connection: db.remove_rows(connection, [(place.project, place.segment)]))

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            self._db.close()

    def _with_db(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run one transaction; after damage once more on rows made anew, and at last on memory for a while."""
        with self._guard:
            if self._in_memory_until is not None and self._now_ns() > self._in_memory_until:
                self._db.close()
                self._db, self._in_memory_until = CatalogDb(self._path), None
            for _ in range(2):
                try:
                    with self._db.transaction() as connection:
                        return action(connection)
                except sqlite3.OperationalError:
                    self._db.close()
                except sqlite3.DatabaseError:
                    self._db.start_over()
            self._db, self._in_memory_until = CatalogDb(db.MEMORY), self._now_ns() + IN_MEMORY_NS
            with self._db.transaction() as connection:
                return action(connection)

    def _page(
        self, connection: sqlite3.Connection, of: Wanted, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[Row], bool, list[Row]]:
        self._follow_directories(connection)
        self._look_again(connection)
        rows: list[Row] = []
        for _ in range(_ROUNDS):
            rows = db.page_of_rows(connection, of, after, limit + 1)
            if not self._refresh(connection, rows[:limit]):
                break
        broken = db.rows_in_state(connection, "broken", RECHECKED) if after is None else []
        return rows[:limit], len(rows) > limit, broken

    def _follow_directories(self, connection: sqlite3.Connection) -> None:
        """Read the names of those project directories whose time has changed."""
        known = db.known_times(connection)
        times, seen = dict[str, int](), set[str]()
        for project in self._projects():
            with suppress(OSError):
                facts = self._io.facts(f"{self._root}/{project}")
                if not facts.is_dir:
                    continue
                seen.add(project)
                if known.get(project) == facts.mtime_ns:
                    continue
                self._follow_names(connection, project)
                settled = self._now_ns() - facts.mtime_ns > SETTLED_NS
                times[project] = facts.mtime_ns if settled else -1
        db.put_times(connection, times, known.keys() - seen)

    def _projects(self) -> list[str]:
        try:
            return [name for name in self._io.list_dir(self._root) if not name.startswith(".")]
        except FileNotFoundError:
            return []

    def _follow_names(self, connection: sqlite3.Connection, project: str) -> None:
        names = {name for name in self._io.list_dir(f"{self._root}/{project}") if not name.startswith(".")}
        known = db.segments_of(connection, project)
        db.remove_rows(connection, [(project, segment) for segment in known - names])
        db.put_rows(connection, [row for name in names - known if (row := self._row(project, name)) is not None])

    def _look_again(self, connection: sqlite3.Connection) -> None:
        """Look once more at directories that had no log yet and at logs that could not be read or held nothing."""
        for state in ("pending", "broken", "empty"):
            old = db.rows_in_state(connection, state, RECHECKED)
            self._replace(connection, [row for row in old if state == "pending" or self._has_changed(row)])

    def _refresh(self, connection: sqlite3.Connection, rows: list[Row]) -> bool:
        changed = [row for row in rows if self._has_changed(row)]
        self._replace(connection, changed)
        return bool(changed)

    def _replace(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        for old in rows:
            row = self._row(old.project, old.segment)
            if row is None:
                db.remove_rows(connection, [(old.project, old.segment)])
                continue
            if row.id == old.id:
                same = (row.size, row.inode) == (old.size, old.inode)  # a log only grows: so is what it holds
                row = replace(row, title=old.title, turns=old.turns, events=old.events if same else None)
            db.put_rows(connection, [row])

    def _has_changed(self, row: Row) -> bool:
        path = f"{self._root}/{row.project}/{row.segment}/{LOG_NAMES[_encoding(row.encoding)]}"
        try:
            facts = self._io.facts(path)
        except OSError:
            return True
        return (facts.size, facts.inode, facts.mtime_ns) != (row.size, row.inode, row.updated_ns)

    def _row(self, project: str, segment: str) -> Row | None:
        """Return what the log's header tells; None when there is no such directory."""
        from acp_server.persistence.header_frame import read_header  # noqa: PLC0415 - a first list reads no log

        for encoding in _ENCODINGS:
            place = LogPlace(self._root, project, segment, encoding)
            facts: FileFacts | None = None
            try:
                facts = self._io.facts(place.path)
                header, end = read_header(self._io, place.path, encoding)
            except FileNotFoundError:
                continue
            except NotADirectoryError:
                return None
            except (PersistenceError, OSError) as error:
                return _broken_row(place, facts, error)
            if (project, segment) != (project_key(header.cwd), encode_segment(header.id)):
                return _broken_row(place, facts, ServerError("SESSION_CORRUPT", _misplaced(place, header)))
            return _good_row(place, header, facts, facts.size <= end)
        try:
            self._io.facts(f"{self._root}/{project}/{segment}")
        except OSError:
            return None
        return Row(project, segment, "pending")


def _encoding(name: str) -> Encoding:
    return "none" if name == "none" else "zstd"


def _misplaced(place: LogPlace, header: SessionHeader) -> str:
    return f"The log {place.path} belongs to the session {header.id} in {header.cwd} and is in another's place."


def _good_row(place: LogPlace, header: SessionHeader, facts: FileFacts, empty: bool) -> Row:
    return Row(
        place.project,
        place.segment,
        "empty" if empty else "ok",
        header.id,
        header.cwd,
        header.created_at,
        header.parent_session,
        place.encoding,
        facts.mtime_ns,
        facts.size,
        facts.inode,
        origin=header.origin,
    )


def _broken_row(place: LogPlace, facts: FileFacts | None, error: ServerError | OSError) -> Row:
    reason = error.message if isinstance(error, ServerError) else f"The log {place.path} cannot be read."
    size, inode, moment = (facts.size, facts.inode, facts.mtime_ns) if facts is not None else (-1, 0, 0)
    return Row(
        place.project,
        place.segment,
        "broken",
        encoding=place.encoding,
        updated_ns=moment,
        size=size,
        inode=inode,
        reason=reason,
    )
