"""The rows of the session list in SQLite (docs/log-format.md, clauses X-4 to X-7). Blocking; used under one lock.

Owns schema and queries. The file can be removed at any time: a missing, damaged or foreign one is made anew, and when
none can be made the rows live in memory.
"""

# ruff: noqa: S608 - what is put into a statement's text is this module's own column names
from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Literal, TypeAlias

from acp_server.base.values import fields_of, value

SCHEMA_VERSION: Final = 2
APPLICATION_ID: Final = 0x41435053
MEMORY: Final = ":memory:"
_BUSY_SECONDS: Final = 5.0
_ATTEMPTS: Final = 6
_PAUSE_SECONDS: Final = 0.02
_PRIMARY: Final = 0xFF
_TAKEN: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Processes that make one file's tables at the same time are in each other's way, and SQLite does not always wait."""

RowState: TypeAlias = Literal["ok", "empty", "broken", "pending"]

Wanted: TypeAlias = tuple[str | None, str | None]
"""A working directory, None for all, and who made the sessions (port.Origin)."""

_SCHEMA: Final = f"""
create table sessions (
    project text not null, segment text not null, state text not null, id text not null, cwd text,
    created_at integer not null, parent text, encoding text not null, updated_ns integer not null,
    size integer not null, inode integer not null, title text, turns integer, events integer, reason text,
    origin text,
    primary key (project, segment)
) without rowid;
create index sessions_by_time on sessions (state, origin, updated_ns desc, id);
create index sessions_by_cwd on sessions (state, origin, cwd, updated_ns desc, id);
create table directories (path text primary key, mtime_ns integer not null) without rowid;
pragma user_version = {SCHEMA_VERSION};
pragma application_id = {APPLICATION_ID};
"""


@value
class Row:
    """One session directory as the list knows it; size, inode and `updated_ns` are the log's revision."""

    project: str
    segment: str
    state: RowState
    id: str = ""
    cwd: str | None = None
    created_at: int = 0
    parent: str | None = None
    encoding: str = "zstd"
    updated_ns: int = 0
    size: int = 0
    inode: int = 0
    title: str | None = None
    turns: int | None = None
    events: int | None = None
    reason: str | None = None
    origin: str | None = None


_COLUMNS: Final = ", ".join(Row.__match_args__)
_MARKS: Final = ", ".join("?" for _ in Row.__match_args__)


class CatalogDb:
    """One connection, opened on first use."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for one transaction; raises sqlite3.Error after rolling back."""
        connection = self._connection = self._connection or self._open()
        with connection:
            yield connection

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def start_over(self) -> None:
        """Throw the rows away, since they were found damaged."""
        self.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                os.unlink(self._path + suffix)  # noqa: PTH108 - pathlib is not for the first list

    def _open(self) -> sqlite3.Connection:
        for attempt in range(1, 1 if self._path == MEMORY else _ATTEMPTS + 1):
            try:
                return _connect(self._path)
            except OSError:
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY not in _TAKEN:
                    break
                time.sleep(attempt * _PAUSE_SECONDS)
            except sqlite3.Error:
                if attempt > 1:
                    break
                self.start_over()
        return _prepared(sqlite3.connect(MEMORY, check_same_thread=False))


def _connect(path: str) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        return _prepared(connection)
    except BaseException:
        connection.close()
        raise


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = off")
    if _marks(connection) != [SCHEMA_VERSION, APPLICATION_ID]:
        _make_tables(connection)
    connection.execute(f"select {_COLUMNS} from sessions limit 1").fetchone()
    return connection


def _marks(connection: sqlite3.Connection) -> list[int]:
    return [connection.execute(f"pragma {name}").fetchone()[0] for name in ("user_version", "application_id")]


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, unless another process has done so meanwhile; raise DatabaseError for a foreign file."""
    with connection:
        connection.execute("begin immediate")
        if _marks(connection) == [SCHEMA_VERSION, APPLICATION_ID]:
            return
        if connection.execute("select count(*) from sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("a file of another kind")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)


def put_rows(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Insert or replace."""
    statement = f"insert or replace into sessions ({_COLUMNS}) values ({_MARKS})"
    connection.executemany(statement, [fields_of(row) for row in rows])


def remove_rows(connection: sqlite3.Connection, places: Iterable[tuple[str, str]]) -> None:
    """Remove the rows of (project, segment) pairs."""
    connection.executemany("delete from sessions where project = ? and segment = ?", list(places))


def rows_in_state(connection: sqlite3.Connection, state: RowState, limit: int) -> list[Row]:
    """Return rows of a state in the order of their places."""
    statement = f"select {_COLUMNS} from sessions where state = ? order by project, segment limit ?"
    return [Row(*values) for values in connection.execute(statement, (state, limit))]


def page_of_rows(connection: sqlite3.Connection, of: Wanted, after: tuple[int, str] | None, limit: int) -> list[Row]:
    """Return up to `limit` good rows of a working directory and an origin, newest first, after (updated_ns, id)."""
    cwd, origin = of
    where, values = "state = 'ok' and origin is ?", list[object]([origin])
    if cwd is not None:
        where += " and cwd = ?"
        values.append(cwd)
    if after is not None:
        where += " and (updated_ns < ? or (updated_ns = ? and id > ?))"
        values += [after[0], after[0], after[1]]
    statement = f"select {_COLUMNS} from sessions where {where} order by updated_ns desc, id limit ?"
    return [Row(*row) for row in connection.execute(statement, (*values, limit))]


def segments_of(connection: sqlite3.Connection, project: str) -> set[str]:
    """Return the segments that have a row."""
    rows = connection.execute("select segment from sessions where project = ?", (project,))
    return {segment for (segment,) in rows}


def known_times(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the time that each directory had when its names were last read."""
    return dict(connection.execute("select path, mtime_ns from directories").fetchall())


def put_times(connection: sqlite3.Connection, times: dict[str, int], gone: Iterable[str]) -> None:
    """Remember directories' times, and forget those that are gone together with their rows."""
    connection.executemany("insert or replace into directories values (?, ?)", list(times.items()))
    for path in gone:
        connection.execute("delete from directories where path = ?", (path,))
        connection.execute("delete from sessions where project = ?", (path,))
