"""Running a pattern over the bytes of files, in this process when it is harmless and else in one that can be killed.

Owns that process and the signal that stops a search: from another thread, at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias

from acp_server.tools import line_matches
from acp_server.tools.line_matches import Found, matching_lines
from acp_server.tools.search_pattern import SearchPattern

Matcher: TypeAlias = Callable[[Sequence[bytes]], list[Found]]
"""Gives the matching lines of each file; raises Stopped."""


class Stopped(Exception):  # noqa: N818 - it names an outcome, not an error
    """The search was stopped from outside."""


class Stop:
    """Stops a search that runs in a thread: asked at most once, by whoever wants its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._actions: list[Callable[[], None]] = []

    @property
    def asked(self) -> bool:
        """Return whether the end was asked for."""
        return self._asked

    def ask(self) -> None:
        """Ask for the end; what `then` was given is called."""
        with self._lock:
            self._asked = True
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def then(self, action: Callable[[], None]) -> None:
        """Call this when the end is asked for, at once when it was."""
        with self._lock:
            if not self._asked:
                self._actions.append(action)
                return
        action()

    def raise_if_asked(self) -> None:
        """Do nothing, or raise Stopped."""
        if self._asked:
            raise Stopped


@contextmanager
def open_matcher(pattern: SearchPattern, most: int, stop: Stop) -> Iterator[Matcher]:
    """Yield what runs the pattern, with the places of the first `most` lines of each file; close it at the end."""
    if pattern.harmless:
        expression = pattern.compile()
        yield lambda files: [matching_lines(data, expression, most) for data in files]
        return
    # -I: neither the environment nor the working directory has a say in what the process runs.
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
        [sys.executable, "-I", "-S", "-B", line_matches.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    stop.then(child.kill)
    head = json.dumps([pattern.python, pattern.ignore_case, most]).encode() + b"\n"
    with child, _killed_at_the_end(child):
        first = [head]
        yield lambda files: _ask(child, first, files)


@contextmanager
def _killed_at_the_end(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        child.kill()
        with suppress(OSError):  # what is left to be written goes nowhere
            if child.stdin is not None:
                child.stdin.close()


def _ask(child: subprocess.Popen[bytes], first: list[bytes], files: Sequence[bytes]) -> list[Found]:
    """Return the answer of the process; a process that is gone was killed, which means that the search is stopped."""
    sizes = json.dumps([len(data) for data in files]).encode() + b"\n"
    if child.stdin is None or child.stdout is None:
        raise Stopped
    try:
        child.stdin.write(b"".join([*first, sizes, *files]))
        child.stdin.flush()
        line = child.stdout.readline()
    except OSError as error:
        raise Stopped from error
    first.clear()
    if not line.endswith(b"\n"):
        raise Stopped
    return [(count, [(number, start, stop) for number, start, stop in found]) for count, found in json.loads(line)]
