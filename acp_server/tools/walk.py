"""Walking a directory tree by descriptors: no link is followed, whatever is renamed meanwhile.

Owns which .gitignore files count and what a search never looks at. Refuses to judge what may be read: it asks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from acp_server.tools.ignore_rules import IgnoreRules, Outer, parse_rules, verdict

NEVER: Final[frozenset[str]] = frozenset({".git", ".hg", ".svn", ".jj"})
"""Names that no search looks at."""

_DEEPEST: Final = 200
_RULES_BYTES: Final = 1024 * 1024
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK: Final = 1024 * 1024


class Walked:
    """A regular file of a walk, reached through its directory's descriptor."""

    __slots__ = ("_directory", "_name", "path")

    def __init__(self, path: str, name: str, directory: int) -> None:
        self.path = path
        self._name = name
        self._directory = directory

    def mtime_ns(self) -> int:
        """See WalkedFile."""
        try:
            return os.stat(self._name, dir_fd=self._directory, follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0

    def read(self, most: int) -> bytes | None:
        """See WalkedFile."""
        try:
            descriptor = os.open(self._name, _FILE, dir_fd=self._directory)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            return read_up_to(descriptor, min(most, found.st_size + 1)) if stat.S_ISREG(found.st_mode) else None
        except OSError:
            return None
        finally:
            os.close(descriptor)


def walk(directory: int, *, rules: Sequence[Outer], ignored: bool, skip: Callable[[str], bool]) -> Iterator[Walked]:
    """Yield the regular files below an open directory; `skip` says by relative path what may not be read.

    The walk's own .gitignore files count with those given, the deepest first. What cannot be opened is passed over.
    """
    chain = [] if ignored else [(prefix, found) for prefix, found in rules]
    yield from _below(directory, "", chain, ignored=ignored, skip=skip, depth=0)


def read_up_to(descriptor: int, most: int) -> bytes:
    """Return at most so many bytes from where the descriptor stands."""
    chunks = []
    left = most
    while left and (chunk := os.read(descriptor, min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _below(
    directory: int, prefix: str, rules: list[Outer], *, ignored: bool, skip: Callable[[str], bool], depth: int
) -> Iterator[Walked]:
    if not ignored and (own := rules_in(directory)) is not None:
        rules = [*rules, ("", own)]
    try:
        with os.scandir(directory) as found:
            entries = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
                for entry in found
            )
    except OSError:
        return
    for name, is_directory, is_file in entries:
        if name in NEVER or not (is_directory or is_file):
            continue
        path = prefix + name
        if verdict(name, rules, directory=is_directory) or skip(path):
            continue
        if is_file:
            yield Walked(path, name, directory)
        elif depth < _DEEPEST:
            inner = [(f"{above}{name}/", found) for above, found in rules]
            yield from _inside(directory, name, path, inner, ignored=ignored, skip=skip, depth=depth)


def _inside(
    directory: int, name: str, path: str, rules: list[Outer], *, ignored: bool, skip: Callable[[str], bool], depth: int
) -> Iterator[Walked]:
    try:
        opened = os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError:
        return
    try:
        yield from _below(opened, path + "/", rules, ignored=ignored, skip=skip, depth=depth + 1)
    finally:
        os.close(opened)


def rules_in(directory: int) -> IgnoreRules | None:
    """Return the rules of the directory's own .gitignore, or None where it has none."""
    with suppress(OSError):
        descriptor = os.open(".gitignore", _FILE, dir_fd=directory)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return parse_rules(read_up_to(descriptor, _RULES_BYTES))
        finally:
            os.close(descriptor)
    return None
