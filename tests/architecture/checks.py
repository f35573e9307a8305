"""The rules applied to a graph: each check returns its breaches as sentences, and an empty list when it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from tests.architecture.graph import PACKAGE, Module, edges, rings
from tests.architecture.rules import (
    IMPURE_CALLS,
    IMPURE_IMPORTS,
    IMPURE_METHODS,
    LAYERS,
    PURE,
    PURE_PARTS,
    START_PATH,
    VAGUE_NAMES,
)


def layer_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return imports that point up or sideways, and packages that stand on no layer."""
    height = {name: level for level, names in enumerate(LAYERS) for name in names}
    strangers = sorted({part(name) for name in modules} - set(height) - {""})
    found = [f"the package {name} stands on no layer" for name in strangers]
    for name, targets in edges(modules).items():
        mine = part(name)
        for target in sorted(targets):
            theirs = part(target)
            if theirs in {"", mine} or {mine, theirs} & set(strangers):
                continue
            if mine == "" or height[theirs] >= height[mine]:
                found.append(f"{name} imports {target}, which is not below it")
    return found


def ring_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return the import cycles, hidden imports counted."""
    return [f"a cycle: {', '.join(ring)}" for ring in rings(edges(modules))]


def hidden_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return imports of our own inside functions away from the start path."""
    return [
        f"{name}:{found.line} hides an import of {found.target}"
        for name, source in modules.items()
        if not _covered(name, START_PATH)
        for found in source.imports
        if found.hidden and found.target.split(".")[0] == PACKAGE
    ]


def purity_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return effects in pure modules, their imports of impure modules, and rows that name no module.

    Pure are the modules of the table, and those whose docstring says so.
    """
    pure = {name for name in modules if _covered(name, PURE) or _says_pure(modules[name])}
    stale = [row for row in PURE if f"{PACKAGE}.{row}" not in modules]
    found = [f"the table of pure modules names {row}, which does not exist" for row in stale]
    graph = edges(modules)
    for name in sorted(pure):
        found += [f"{name}:{line} {what}" for line, what in _effects(modules[name])]
        strangers = sorted(graph[name] - pure - {PACKAGE})
        found += [f"{name} is pure but imports {target}" for target in strangers]
    return found


def name_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return modules and classes whose name says nothing about what they own."""
    found = []
    for name, source in modules.items():
        words = name.rpartition(".")[2].split("_")
        if set(words) & {vague.lower() for vague in VAGUE_NAMES} - {"base"} and name != f"{PACKAGE}.base":
            found.append(f"the module {name} has a vague name")
        found += [
            f"{name}:{node.lineno} the class {node.name} has a vague name"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.ClassDef) and node.name.endswith(VAGUE_NAMES)
        ]
    return found


def docstring_breaches(modules: Mapping[str, Module]) -> list[str]:
    """Return modules that do not say what they own."""
    return [f"{name} has no docstring" for name, source in modules.items() if not ast.get_docstring(source.tree)]


def part(name: str) -> str:
    """Return the package below the root that the module belongs to, or "" for the root itself."""
    return [*name.split("."), ""][1]


def _covered(name: str, rows: tuple[str, ...] | frozenset[str]) -> bool:
    return any(name == f"{PACKAGE}.{row}" or name.startswith(f"{PACKAGE}.{row}.") for row in rows)


def _effects(source: Module) -> Iterator[tuple[int, str]]:
    for found in source.imports:
        if found.target not in PURE_PARTS and _prefixes(found.target) & IMPURE_IMPORTS:
            yield found.line, f"imports {found.target}"
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield node.lineno, f"calls {node.func.id}"
        elif isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS:
            owner = node.func.value
            if isinstance(owner, ast.Name | ast.Attribute) and ast.unparse(owner).split(".")[-1] in {
                "datetime",
                "date",
            }:
                yield node.lineno, f"reads the clock by {ast.unparse(node.func)}"


def _says_pure(source: Module) -> bool:
    return re.search(r"\bPure[.:]", ast.get_docstring(source.tree) or "") is not None


def _prefixes(target: str) -> set[str]:
    parts = target.split(".")
    return {".".join(parts[: n + 1]) for n in range(len(parts))}
