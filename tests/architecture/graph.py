"""The import graph of the package, drawn from its syntax trees.

Counts every import: at the top of a module, inside functions, and under TYPE_CHECKING. A reader of the graph has to
know no more than a reader of the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "acp_server"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name, `target` in full; `hidden` when it stands inside a function."""

    target: str
    line: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class Module:
    """One source file of the package."""

    name: str
    path: Path
    tree: ast.Module
    imports: tuple[Import, ...]


def module(name: str, path: Path, source: str) -> Module:
    """Return the module with its imports; raise SyntaxError for a source that is none."""
    tree = ast.parse(source, str(path))
    return Module(name, path, tree, tuple(_imports(tree, name, path.name == "__init__.py")))


def package(root: Path = ROOT) -> dict[str, Module]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = module(name, path, path.read_text("utf-8"))
    return found


def edges(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return for each module the modules of the package that it imports, itself left out."""
    graph = {}
    for name, source in modules.items():
        targets = (_resolve(found.target, modules) for found in source.imports)
        graph[name] = {target for target in targets if target is not None and target != name}
    return graph


def rings(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other, each sorted; an acyclic graph has none."""
    reached = {name: _reach(name, graph) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def _reach(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph.get(name, ()))
    return seen


def _resolve(target: str, modules: Mapping[str, Module]) -> str | None:
    if target in modules:
        return target
    owner = target.rpartition(".")[0]
    return owner if owner in modules else None


def _imports(tree: ast.Module, name: str, is_package: bool) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, hidden = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, hidden) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            owner = _owner(node, name, is_package)
            yield from (Import(f"{owner}.{alias.name}", node.lineno, hidden) for alias in node.names)
        inside = hidden or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting.extend((child, inside) for child in ast.iter_child_nodes(node))


def _owner(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, node.module] if node.module else kept)
