"""The rules of one .gitignore file, as git reads them. Pure.

Owns parsing and the verdict on a path relative to the file's directory. What rules of which files count, and that a
path below an ignored directory is ignored, is the walk's matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from acp_server.base.values import value
from acp_server.tools.globs import translate

_MOST_BYTES: Final = 1024 * 1024


@value
class _Rule:
    """`pattern` is without its leading and final slash and not anchored to the file's directory when `anywhere`."""

    matches: re.Pattern[str]
    pattern: str
    keeps: bool
    directories_only: bool
    anywhere: bool


@value
class IgnoreRules:
    """Rules in their order; the last one that matches decides."""

    rules: tuple[_Rule, ...]

    def ignores(self, path: str, *, directory: bool) -> bool | None:
        """Return True for ignored, False for kept by an exception, None where no rule says anything."""
        for rule in reversed(self.rules):
            if (directory or not rule.directories_only) and rule.matches.fullmatch(path):
                return not rule.keeps
        return None


Outer: TypeAlias = tuple[str, IgnoreRules]
"""Rules of a directory, and the path from it to where names are judged: "" or one that ends with a slash."""


def verdict(name: str, rules: Sequence[Outer], *, directory: bool) -> bool:
    """Return what the deepest rules that say anything say about a name; `rules` come with the deepest last."""
    for prefix, found in reversed(rules):
        said = found.ignores(prefix + name, directory=directory)
        if said is not None:
            return said
    return False


def joined(rules: Sequence[Outer]) -> bytes:
    """Return rules of several directories as one file of the first one's directory; the deepest come last."""
    top = rules[0][0]
    lines = [_moved(rule, top[: len(top) - len(prefix)]) for prefix, found in rules for rule in found.rules]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def parse_rules(data: bytes) -> IgnoreRules:
    """Return the rules of a file; a line that cannot be read counts for nothing."""
    lines = data[:_MOST_BYTES].decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n")
    return IgnoreRules(tuple(rule for rule in map(_rule, lines) if rule is not None))


def _rule(line: str) -> _Rule | None:
    line = _without_trailing_blanks(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    pattern = line[1:] if keeps else line
    directories_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    anywhere = "/" not in pattern
    pattern = pattern.removeprefix("/")
    start = "(?:.*/)?" if anywhere else ""
    try:
        expression = re.compile(start + _below(translate(pattern, braces=False), pattern), re.DOTALL)
    except (ValueError, re.error):
        return None
    return _Rule(expression, pattern, keeps, directories_only, anywhere)


def _moved(rule: _Rule, directory: str) -> str:
    """Return the rule as it has to stand in a file above; `directory` is the way down, with a slash at its end."""
    way = re.sub(r"([\\*?\[\]{}])", r"\\\1", directory)
    start = f"{'!' if rule.keeps else ''}/{way}{'**/' if rule.anywhere else ''}"
    return f"{start}{rule.pattern}{'/' if rule.directories_only else ''}"


def _below(source: str, pattern: str) -> str:
    """A final `/**` matches all that is inside, and not the directory itself."""
    return source.removesuffix(".*") + ".+" if pattern.endswith("/**") else source


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    cut = len(line) - len(stripped)
    escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2
    return stripped + " " if cut and escaped else stripped
