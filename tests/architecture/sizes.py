"""Sizes of modules, functions, classes and parameter lists, measured and printed; nobody fails on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from tests.architecture.graph import Module
from tests.architecture.rules import ARGUMENTS, FUNCTION_LINES, MODULE_LINES, PUBLIC_METHODS


@dataclass(frozen=True, slots=True)
class Excess:
    """One thing that is larger than the report's mark."""

    what: str
    where: str
    size: int
    mark: int


def excesses(modules: Mapping[str, Module]) -> list[Excess]:
    """Return what passes a mark, the worst first within each kind."""
    found = [excess for source in modules.values() for excess in _of(source)]
    return sorted(found, key=lambda excess: (excess.what, -excess.size, excess.where))


def report(modules: Mapping[str, Module]) -> str:
    """Return the report as plain text: totals, one line a package, one line an excess."""
    lines = {name: _lines(source) for name, source in modules.items()}
    sizes = sorted(lines.values())
    head = f"{len(sizes)} modules, {sum(sizes)} lines, median {median(sizes):.0f}, longest {sizes[-1]}"
    rows = [f"{'package':<14}{'modules':>8}{'lines':>8}{'longest':>9}"]
    for package in sorted({_package(name) for name in modules}):
        mine = [size for name, size in lines.items() if _package(name) == package]
        rows.append(f"{package:<14}{len(mine):>8}{sum(mine):>8}{max(mine):>9}")
    marks = [f"{excess.what:<10}{excess.size:>5} > {excess.mark:<4} {excess.where}" for excess in excesses(modules)]
    return "\n".join([head, "", *rows, "", *(marks or ["nothing passes a mark"])])


def _package(name: str) -> str:
    return [*name.split("."), "(root)"][1]


def _lines(source: Module) -> int:
    return source.path.read_bytes().count(b"\n")


def _of(source: Module) -> Iterator[Excess]:
    if (lines := _lines(source)) > MODULE_LINES:
        yield Excess("module", source.name, lines, MODULE_LINES)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_function(node, f"{source.name}:{node.lineno} {node.name}")
        elif isinstance(node, ast.ClassDef):
            public = sum(1 for part in node.body if _is_public_method(part))
            if public > PUBLIC_METHODS:
                yield Excess("methods", f"{source.name}:{node.lineno} {node.name}", public, PUBLIC_METHODS)


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef, where: str) -> Iterator[Excess]:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > FUNCTION_LINES:
        yield Excess("function", where, lines, FUNCTION_LINES)
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    count = sum(1 for argument in arguments if argument.arg not in {"self", "cls"})
    if count > ARGUMENTS:
        yield Excess("arguments", where, count, ARGUMENTS)


def _is_public_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
