"""Finding files and the files that match: by ripgrep where it is there and can, else by a walk of our own.

Owns that both give the same, in the same order. Refuses to show what a file holds: that is the tools' matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.base.values import value
from acp_server.tools.files import Files
from acp_server.tools.globs import compile_glob
from acp_server.tools.ignore_rules import Outer, joined
from acp_server.tools.matcher import Matcher, Stop, Stopped, open_matcher
from acp_server.tools.ripgrep import Place, count_matches, list_files
from acp_server.tools.search_pattern import SearchPattern
from acp_server.tools.tool import ToolError

SECONDS: Final = 30.0
MOST_OF_A_FILE: Final = 64 * 1024 * 1024
"""Bytes of one file that a search of our own looks at."""
NOTHING_FOUND: Final = "Nothing found."
_BATCH_FILES: Final = 64
_BATCH_BYTES: Final = 1024 * 1024


@value
class Query:
    """What is searched for and where; without a pattern, files alone. `path` is absolute."""

    path: str
    pattern: SearchPattern | None = None
    glob: str | None = None
    ignored: bool = False


@value
class Hits:
    """Files in order of their paths, each with the number of its matching lines; what the model has to know of it."""

    files: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()
    complete: bool = True

    @property
    def total(self) -> int:
        """Return how many lines match."""
        return sum(count for _, count in self.files)


@value
class _Start:
    """Where a search begins: the canonical directory, the rules above it, and the program to ask first."""

    directory: str
    outer: tuple[Outer, ...]
    ripgrep: str | None


@contextmanager
def stopping(cancel: CancelToken, seconds: float = SECONDS) -> Iterator[Stop]:
    """Yield what stops a search: after that time, when the turn is cancelled, and at the end in any case."""
    stop = Stop()
    timer = asyncio.get_running_loop().call_later(seconds, stop.ask)
    unsubscribe = cancel.subscribe(stop.ask)
    try:
        yield stop
    finally:
        unsubscribe()
        timer.cancel()
        stop.ask()


async def find_hits(files: Files, query: Query, ripgrep: str | None, stop: Stop) -> Hits:
    """Return the files that match.

    Raises:
        ToolError: what Files raises for the path; INVALID_GLOB.
    """
    if query.glob is not None:
        compile_glob(query.glob)
    facts = await files.facts(query.path)
    if facts.kind == "file":
        return await _one_file(files, query, stop)
    if facts.kind != "directory":
        raise ToolError("NOT_A_FILE", f"{query.path} is neither a file nor a directory")
    outer = () if query.ignored else tuple(await asyncio.to_thread(files.rules_above, facts.path))
    return await asyncio.to_thread(_in_directory, files, query, _Start(facts.path, outer, ripgrep), stop)


async def _one_file(files: Files, query: Query, stop: Stop) -> Hits:
    """A file that is named is searched whatever .gitignore or the glob say."""
    content = await files.read(query.path, MOST_OF_A_FILE)
    if query.pattern is None:
        return Hits(((query.path, 0),))
    if b"\0" in content.data and not content.data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Hits((), ("[the file is binary, so no line of it was searched]",))
    with open_matcher(query.pattern, 0, stop) as match:
        try:
            ((count, _),) = await asyncio.to_thread(match, [content.data])
        except Stopped:
            return Hits((), (_stopped(),), complete=False)
    return Hits(((query.path, count),) if count else ())


def _in_directory(files: Files, query: Query, start: _Start, stop: Stop) -> Hits:
    notes: list[str] = []
    found: list[tuple[str, int]] = []
    try:
        listed = _by_ripgrep(query, start, stop)
        if listed is None:
            _by_walk(files, query, start.directory, found, stop)
        else:
            found = listed
    except Stopped:
        notes.append(_stopped())
    matches = compile_glob(query.glob).fullmatch if query.glob is not None else None
    kept = [(f"{query.path.rstrip('/')}/{path}", count) for path, count in found if matches is None or matches(path)]
    readable = [hit for hit in kept if files.readable(start.directory + hit[0][len(query.path) :])]
    if len(readable) < len(kept):
        notes.append(f"[{len(kept) - len(readable)} files were left out because they hold secrets]")
    if not readable and not query.ignored:
        notes.append("[files that .gitignore names were not searched; name one, or set include_ignored]")
    return Hits(tuple(sorted(readable)), tuple(notes), complete=_stopped() not in notes)


def _stopped() -> str:
    return f"[stopped after {SECONDS:.0f} s: this is not all; narrow the search]"


def _by_ripgrep(query: Query, start: _Start, stop: Stop) -> list[tuple[str, int]] | None:
    if start.ripgrep is None:
        return None
    top = start.directory.removesuffix("/" + start.outer[0][0].rstrip("/")) if start.outer else start.directory
    place = Place(top or "/", start.directory, joined(start.outer) if start.outer else b"", query.ignored, query.glob)
    if query.pattern is not None:
        return count_matches(start.ripgrep, query.pattern, place, stop)
    listed = list_files(start.ripgrep, place, stop)
    return None if listed is None else [(path, 0) for path in listed]


def _by_walk(files: Files, query: Query, directory: str, found: list[tuple[str, int]], stop: Stop) -> None:
    """Append what is found as it is found, so that a stop loses nothing."""
    named = compile_glob(query.glob).fullmatch if query.glob is not None else None
    if query.pattern is None:
        for walked in files.walk(directory, ignored=query.ignored):
            stop.raise_if_asked()
            found.append((walked.path, 0))
        return
    with open_matcher(query.pattern, 0, stop) as match:
        paths: list[str] = []
        batch: list[bytes] = []
        for walked in files.walk(directory, ignored=query.ignored):
            stop.raise_if_asked()
            data = walked.read(MOST_OF_A_FILE) if named is None or named(walked.path) else None
            if data:
                paths.append(walked.path)
                batch.append(data)
            if len(batch) >= _BATCH_FILES or sum(map(len, batch)) >= _BATCH_BYTES:
                _note(match, paths, batch, found)
        _note(match, paths, batch, found)


def _note(match: Matcher, paths: list[str], batch: list[bytes], found: list[tuple[str, int]]) -> None:
    found += [(path, count) for path, (count, _) in zip(paths, match(batch), strict=True) if count]
    paths.clear()
    batch.clear()
