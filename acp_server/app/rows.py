"""What a process is made of, as data: rows in layers, and who set which value. Pure.

Owns the meaning of patches: a row's config is replaced as a whole or, by settings, key by key; a row is disabled; rows
are inserted before or after another. Reading files is `layers`' matter, building things of rows `components`'.
docs/settings.md, clauses P-1 to P-9.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from acp_server.app.row import Config, Row
from acp_server.base.errors import ServerError
from acp_server.base.values import replace, value


@value
class SetConfig:
    """Replace the config of a row; with `merge` only these keys of it."""

    id: str
    config: Config
    place: str
    merge: bool = False


@value
class Toggle:
    """Disable a row, or enable it again."""

    id: str
    disabled: bool
    place: str


@value
class Insert:
    """Put rows before or after another one, or at the end when there is no `anchor`."""

    rows: tuple[Row, ...]
    place: str
    anchor: str | None = None
    side: Literal["before", "after"] = "after"


Patch: TypeAlias = SetConfig | Toggle | Insert


@value
class Layer:
    """The patches of one source, in order; `name` is what the person calls it: a bundle or a file."""

    name: str
    patches: tuple[Patch, ...]


@value
class Tree:
    """Rows in order. `origins` says by (row, key) which place set a value; the key "" stands for the row itself."""

    rows: tuple[Row, ...]
    origins: Mapping[tuple[str, str], str]

    def row(self, ident: str) -> Row | None:
        """Return the row, or None."""
        return next((row for row in self.rows if row.id == ident), None)


def bundle_layer(name: str, rows: Iterable[Row]) -> Layer:
    """Return the layer that a bundle is: rows at the end."""
    return Layer(f"bundle {name}", (Insert(tuple(rows), f"bundle {name}"),))


def compose(layers: Iterable[Layer]) -> Tree:
    """Return the rows that the layers make, lowest first.

    Raises:
        ServerError: INVALID_PATCH, naming the place, for a row that is unknown or there twice.
    """
    rows: list[Row] = []
    origins: dict[tuple[str, str], str] = {}
    for layer in layers:
        for patch in layer.patches:
            match patch:
                case Insert():
                    _insert(rows, origins, patch)
                case SetConfig():
                    _set_config(rows, origins, patch)
                case Toggle():
                    at = _find(rows, patch.id, patch.place)
                    rows[at] = replace(rows[at], disabled=patch.disabled)
                    origins[patch.id, "disabled"] = patch.place
    return Tree(tuple(rows), origins)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known word that was probably meant, with a blank before it, or nothing."""
    close = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def _insert(rows: list[Row], origins: dict[tuple[str, str], str], patch: Insert) -> None:
    known = {row.id for row in rows}
    at = len(rows) if patch.anchor is None else _find(rows, patch.anchor, patch.place) + (patch.side == "after")
    for row in patch.rows:
        if row.id in known:
            raise ServerError("INVALID_PATCH", f"{patch.place}: the row {row.id!r} exists already.")
        known.add(row.id)
        origins[row.id, ""] = patch.place
        _mark(origins, row.id, row.config, patch.place)
    rows[at:at] = patch.rows


def _set_config(rows: list[Row], origins: dict[tuple[str, str], str], patch: SetConfig) -> None:
    at = _find(rows, patch.id, patch.place)
    row = rows[at]
    if not patch.merge:
        for key in row.config:
            origins.pop((row.id, key), None)
    rows[at] = replace(row, config={**row.config, **patch.config} if patch.merge else dict(patch.config))
    _mark(origins, row.id, patch.config, patch.place)


def _mark(origins: dict[tuple[str, str], str], ident: str, config: Config, place: str) -> None:
    for key in config:
        origins[ident, key] = place


def _find(rows: Sequence[Row], ident: str, place: str) -> int:
    for at, row in enumerate(rows):
        if row.id == ident:
            return at
    known = [row.id for row in rows]
    raise ServerError("INVALID_PATCH", f"{place}: there is no row {ident!r}.{nearest(ident, known)}")
