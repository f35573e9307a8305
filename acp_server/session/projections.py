"""Named folds over a log, for lists and clients (docs/sessions.md, clauses V-1 to V-4).

Owns driving them, their checkpoints and their way back. A projection sees milestones only, never an `assistant/chunk`:
so a stored log need not be unpacked, and a stream costs nothing. The log is the authority; every state can be dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue, freeze
from acp_server.session.events import SessionEvent
from acp_server.session.log import EventLog


class Projection(Protocol):
    """A pure fold with JSON for its state. A change of its rule or of its state's form is a higher `version`."""

    @property
    def key(self) -> str:
        """Return its name, unique in a set."""
        ...

    @property
    def version(self) -> int:
        """Return the version of its rule and its state."""
        ...

    def initial(self) -> JsonValue:
        """Return the state of an empty log."""
        ...

    def apply(self, state: JsonValue, event: SessionEvent) -> JsonValue:
        """Return the state after the event; the very same object when nothing changed."""
        ...

    def view(self, state: JsonValue) -> JsonValue:
        """Return what others see of the state."""
        ...


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One projection's state after the event `seq`, -1 for none."""

    version: int
    seq: int
    state: JsonValue


@dataclass(slots=True)
class _Cell:
    projection: Projection
    users: int = 1
    built: bool = False
    state: JsonValue = None


Listener: TypeAlias = Callable[[str, JsonValue, int], None]


class ProjectionSet:
    """The projections of one log. A state is built when somebody asks for it first, and then follows `notify`."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._cells: dict[str, _Cell] = {}
        self._listeners: tuple[Listener, ...] = ()

    def register(self, projection: Projection) -> Callable[[], None]:
        """Add a projection; return what takes it away. The same key and version may come several times.

        Raises:
            ServerError: PROJECTION_CONFLICT, when the key is there with another version.
        """
        cell = self._cells.get(projection.key)
        if cell is None:
            cell = self._cells[projection.key] = _Cell(projection)
        elif cell.projection.version == projection.version:
            cell.users += 1
        else:
            raise ServerError("PROJECTION_CONFLICT", f"the projection {projection.key} has two versions")
        return lambda: self._unregister(cell)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(key, view, seq)` after each change of a built state; return what ends it."""
        self._listeners = (*self._listeners, listener)
        return lambda: setattr(self, "_listeners", tuple(other for other in self._listeners if other is not listener))

    def notify(self, event: SessionEvent) -> None:
        """Take an event that was just committed; made to observe a session."""
        if event.type == "assistant/chunk":
            return
        for key, cell in self._cells.items():
            if not cell.built:
                continue
            before, cell.state = cell.state, cell.projection.apply(cell.state, event)
            if cell.state is not before:
                for listener in self._listeners:
                    listener(key, cell.projection.view(cell.state), event.seq)

    def view(self, key: str) -> JsonValue:
        """Return the projection's view; raise ServerError UNKNOWN_PROJECTION."""
        cell = self._cells.get(key)
        if cell is None:
            raise ServerError("UNKNOWN_PROJECTION", f"there is no projection {key}")
        return cell.projection.view(self._built(cell))

    def views(self) -> dict[str, JsonValue]:
        """Return every projection's view, by key."""
        return {key: self.view(key) for key in self._cells}

    def checkpoint(self) -> dict[str, CheckpointRow]:
        """Return every state, frozen, as of the log's last event."""
        seq = len(self._log) - 1
        return {
            key: CheckpointRow(cell.projection.version, seq, freeze(self._built(cell), key))
            for key, cell in self._cells.items()
        }

    def restore(self, rows: Mapping[str, CheckpointRow]) -> None:
        """Take over the rows that fit, and fold what the log has after them; other states are built from the log.

        A row does not fit when its version is another, or when it knows more than the log.
        """
        for key, cell in self._cells.items():
            row = rows.get(key)
            if row is not None and row.version == cell.projection.version and -1 <= row.seq < len(self._log):
                self._fold(cell, row.state, row.seq + 1)

    def _built(self, cell: _Cell) -> JsonValue:
        if not cell.built:
            self._fold(cell, cell.projection.initial(), 0)
        return cell.state

    def _fold(self, cell: _Cell, state: JsonValue, start: int) -> None:
        for event in self._log.milestones(start):
            state = cell.projection.apply(state, event)
        cell.state, cell.built = state, True

    def _unregister(self, cell: _Cell) -> None:
        cell.users -= 1
        if cell.users == 0:
            del self._cells[cell.projection.key]
