"""The catalogue of event types, made from the code: what is known, what its data holds, who appends it.

Types and fields come from the session's own tables, writers from the calls that append, values from the types that
name them. Only what they mean is told here, and a type or a field without a meaning is an error.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from acp_server.session.events import REQUIRED_TYPES, SURFACE_TYPES
from acp_server.session.session import CHUNK
from acp_server.session.shapes import TABLE
from tests.support.event_meanings import EVENTS, GROUPS
from tests.support.launch import REPOSITORY

PACKAGE: Final = REPOSITORY / "acp_server"
TYPES: Final = frozenset(REQUIRED_TYPES | TABLE.keys())
"""Every type that a reader of this server knows."""
_APPENDING: Final = ("append", "record", "Closer")
_FORMS: Final[Mapping[str, str]] = {
    "is neither a number from 1 nor null": "whole number from 1, or null",
    "is neither true nor false": "true or false",
    "is there and not true": "`true`",
    "is neither next-turn nor next-step": "`next-turn` or `next-step`",
    "is not 'canceled'": "`canceled`",
    "is no known reason": "`initial`, `resume` or `change`",
}
"""What a check wants, from how its failure reads; others read `is no …`."""
_HEAD: Final = """\
# Event catalogue

Every type of event that a session's log may hold. Made from the code by `python -m tests.support.generated`; change
`session/events.py`, `session/shapes.py` or whoever appends, then make it again.

The envelope around the data, the forms of messages, blocks, chunks, usage and failures, and what readers do with types
that they do not know are in [log-format.md](log-format.md) (clauses E-1 to E-8, M-1 to M-10, J-4); what may follow what
is in [sessions.md](sessions.md). `?` behind a field: it may be absent. Further fields are kept. *Milestone*: a fold
that skips the pieces of a stream sees it. Paths are below `acp_server/`.
"""


def catalog_text() -> str:
    """Return docs/event-catalog.md; raise ValueError for what is known and not told, or told and not known."""
    told = [kind for _, kinds in GROUPS for kind in kinds]
    if sorted(told) != sorted(TYPES) or EVENTS.keys() != TYPES:
        raise ValueError(f"told and known types differ: {sorted({*told, *EVENTS} ^ TYPES)}")
    written, ignorable = writers()
    parts = [_HEAD]
    for title, kinds in GROUPS:
        parts.append(f"\n## {title}\n")
        parts += [_entry(kind, written.get(kind, []), ignorable=kind in ignorable) for kind in kinds]
    return "".join(parts)


def fields_of(kind: str) -> dict[str, tuple[str, str]]:
    """Return form and meaning of each field of a type's data, by its name with `?` where it may be absent."""
    told, checked = EVENTS[kind].fields, TABLE.get(kind, {})
    found = {}
    for name, words in told.items():
        form, meaning = words if isinstance(words, tuple) else (None, words)
        if (form is None) != (name in checked):
            raise ValueError(f"{kind}: the form of {name} is told twice or not at all")
        found[name] = (_form(checked[name].reason) if form is None else form, meaning)
    if missing := checked.keys() - told.keys():
        raise ValueError(f"{kind}: {sorted(missing)} is checked and not told")
    return found


def _form(reason: str) -> str:
    return _FORMS.get(reason) or reason.removeprefix("is no ")


def _entry(kind: str, by: list[str], *, ignorable: bool) -> str:
    surface = "`append` or `replace`" if kind in SURFACE_TYPES else "none"
    milestone = "no" if kind == CHUNK else "yes"
    facts = f"Surface operation: {surface}. Milestone: {milestone}."
    if ignorable:
        facts += " Ignorable."
    places = ", ".join(f"`{place}`" for place in by)
    appended = (
        f"Appended by {places}." if by else "Nothing here appends it; it is known, so that a log with it is read."
    )
    lines = [f"\n### `{kind}`\n", _wrapped(EVENTS[kind].meaning), _wrapped(f"{facts} {appended}")]
    fields = fields_of(kind)
    if fields:
        rows = [f"| `{name}` | {form} | {meaning} |" for name, (form, meaning) in fields.items()]
        lines.append("\n".join(["| field | form | meaning |", "|---|---|---|", *rows, ""]))
    return "\n".join(lines)


def _wrapped(words: str) -> str:
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def writers() -> tuple[dict[str, list[str]], set[str]]:
    """Return the modules that append each type, and the types that are appended as ignorable."""
    written: dict[str, set[str]] = {}
    ignorable = set()
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    names = {_dotted(path): dict(_constants(tree)) for path, tree in trees.items()}
    for path, tree in trees.items():
        known = {**dict(_imported(tree, names)), **names[_dotted(path)]}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            kind = _appended(call, known)
            if kind in TYPES:
                written.setdefault(kind, set()).add(path.relative_to(PACKAGE).as_posix())
                if any(keyword.arg == "ignorable" for keyword in call.keywords):
                    ignorable.add(kind)
    return {kind: sorted(places) for kind, places in written.items()}, ignorable


def _appended(call: ast.Call, known: Mapping[str, str]) -> str:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _APPENDING or len(call.args) < 2:
        return ""
    match call.args[0]:
        case ast.Constant(value=str(kind)):
            return kind
        case ast.Name(id=constant):
            return known.get(constant, "")
    return ""


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Iterate over the names of a module that stand for a type."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        match targets, getattr(node, "value", None):
            case [ast.Name(id=name)], ast.Constant(value=str(kind)) if kind in TYPES:
                yield name, kind


def _imported(tree: ast.Module, names: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known = names.get(node.module or "", {})
            yield from ((alias.asname or alias.name, known[alias.name]) for alias in node.names if alias.name in known)
