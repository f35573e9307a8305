"""The components of a process, built from rows in their order (docs/how-to/write-a-plugin.md).

Owns that everything a row needs is there before anything is built, that a component's end undoes what it registered,
and which components are built again when their configuration changes.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from acp_server.app.registries import Parts, Registries, Undo
from acp_server.app.row import Config, Row
from acp_server.base.errors import ServerError

Close: TypeAlias = Callable[[], Awaitable[None] | None]
"""Gives back what the component holds; called once, when what it registered is gone already."""
Factory: TypeAlias = Callable[[Parts, Config], Close | None]
"""Registers what the component brings; raises ServerError for a config that it cannot use."""
HOT: Final = "hot"
"""An attribute of a factory: it may be called again while sessions run, so it holds nothing but what it registers."""


class _Built:
    """A component that is there: its row, what closes it, and what takes away what it registered."""

    __slots__ = ("close", "row", "undo")

    def __init__(self, row: Row, close: Close | None, undo: list[Undo]) -> None:
        self.row = row
        self.close = close
        self.undo = undo


def hot(factory: Factory) -> Factory:
    """Mark a factory whose component may be built again while sessions run."""
    setattr(factory, HOT, True)
    return factory


class Components:
    """What was built, in order."""

    def __init__(self, tables: Registries) -> None:
        self._tables = tables
        self._built: list[_Built] = []
        self._left: list[_Built] = []
        """Built before another row failed: what they registered is gone, what they hold is given back by `close`."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the rows that are built."""
        return tuple(built.row for built in self._built)

    def build(self, rows: Sequence[Row]) -> None:
        """Build every row that is not disabled; when one fails, nothing stays.

        Raises:
            ServerError: MISSING_REQUIREMENT, before anything was built, naming everything that is missing; or
                COMPONENT_FAILED.
        """
        wanted = [row for row in rows if not row.disabled]
        factories = resolve(wanted)
        try:
            for row in wanted:
                self._built.append(self._make(row, factories[row.id]))
        except BaseException:
            for built in reversed(self._built):
                _undo(built)
            self._left += self._built
            self._built = []
            raise

    def update(self, rows: Sequence[Row]) -> list[str]:
        """Build again what has changed and may be; return the ids of rows whose change waits for the next start.

        Raises:
            ServerError: as `build`, with everything as it was.
        """
        wanted = {row.id: row for row in rows if not row.disabled}
        factories = resolve(list(wanted.values()))
        before = {built.row.id: built for built in self._built}
        is_hot = {ident: _is_hot(factory) for ident, factory in factories.items()}
        is_hot |= {ident: _is_hot(factory) for ident, factory in resolve(self.rows, whole=False).items()}
        waiting = [row.id for row in wanted.values() if not is_hot[row.id] and self._row(row.id) != row]
        waiting += [ident for ident in before if ident not in wanted and not is_hot[ident]]
        now = [row for row in wanted.values() if is_hot[row.id]]
        if now != [row for row in self.rows if is_hot[row.id]]:
            self._rebuild(now, {ident for ident in before if is_hot[ident]}, factories)
        return waiting

    async def close(self) -> None:
        """Take everything away, last built first; what a component raises stops no other."""
        failures = []
        ending, self._built, self._left = [*self._left, *self._built], [], []
        for built in reversed(ending):
            _undo(built)
            if built.close is None:
                continue
            try:
                closing = built.close()
                if isawaitable(closing):
                    await closing
            except Exception as error:  # noqa: BLE001 - the others are closed all the same
                failures.append(error)
        if failures:
            raise failures[0]

    def _row(self, ident: str) -> Row | None:
        return next((built.row for built in self._built if built.row.id == ident), None)

    def _rebuild(self, rows: Sequence[Row], olds: set[str], factories: dict[str, Factory]) -> None:
        """Build all hot rows again, in order, since the order of what they register counts."""
        gone = [built for built in self._built if built.row.id in olds]
        for built in reversed(gone):
            _undo(built)
        made: list[_Built] = []
        try:
            for row in rows:
                made.append(self._make(row, factories[row.id]))  # noqa: PERF401 - what was made has to be known
        except BaseException:
            for built in reversed(made):
                _undo(built)
            known = resolve([built.row for built in gone], whole=False)
            for built in gone:
                built.undo = self._make(built.row, known[built.row.id]).undo
            raise
        self._built = [*made, *(built for built in self._built if built not in gone)]

    def _make(self, row: Row, factory: Factory) -> _Built:
        undo: list[Undo] = []
        try:
            close = factory(Parts(row.id, self._tables, undo), row.config)
        except ServerError as error:
            _undo(_Built(row, None, undo))
            raise ServerError("COMPONENT_FAILED", f"The row {row.id!r} cannot be built: {error.message}") from error
        except Exception as error:
            _undo(_Built(row, None, undo))
            kind = type(error).__name__
            raise ServerError("COMPONENT_FAILED", f"The row {row.id!r} cannot be built: {kind}.") from error
        return _Built(row, close, undo)


def resolve(rows: Sequence[Row], *, whole: bool = True) -> dict[str, Factory]:
    """Return the factory of each row; unless `whole`, the rows that they need may be missing.

    Raises:
        ServerError: MISSING_REQUIREMENT, naming every row, module and factory that is missing.
    """
    missing: list[str] = []
    there = {row.id for row in rows}
    factories: dict[str, Factory] = {}
    for row in rows:
        needs = row.requires if whole else ()
        missing += [f"the row {row.id!r} needs the row {need!r}" for need in needs if need not in there]
        found = _factory(row.component)
        if isinstance(found, str):
            missing.append(f"the row {row.id!r} needs {found}")
        else:
            factories[row.id] = found
    if missing:
        raise ServerError("MISSING_REQUIREMENT", f"Not everything is there: {'; '.join(missing)}.")
    return factories


def _factory(component: str) -> Factory | str:
    name, _, attribute = component.partition(":")
    module = sys.modules.get(name)
    if module is None:
        try:
            module = import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever a module does while it is loaded, the row is told
            why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"fails with {type(error).__name__}"
            return f"the module {name}, which {why}"
    factory: Any = getattr(module, attribute, None)
    return factory if callable(factory) else f"{attribute} of the module {name}"


def _is_hot(factory: Factory) -> bool:
    return getattr(factory, HOT, False) is True


def _undo(built: _Built) -> None:
    for undo in reversed(built.undo):
        undo()
    built.undo.clear()
