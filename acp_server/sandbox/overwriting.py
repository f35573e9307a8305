"""Files made, replaced and removed behind the fence: whole or not at all, and only while they are what they were.

Owns the write half of the fence (docs/sandbox.md, clauses F-6 to F-9). A path is judged before every try; how the bytes
get to the disk is `replacing`'s matter.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.sandbox.facts import Host
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.openat import PATH_ONLY, open_strictly
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.refusals import Denied, changed, told
from acp_server.sandbox.replacing import Version, digest_of, put, same_version, version_of
from acp_server.sandbox.roots import Roots
from acp_server.sandbox.verdict import Refusal

Expected: TypeAlias = Version | Literal["any", "absent"]
TRIES: Final = 8
"""How often a path is judged again that somebody renames meanwhile."""


class Overwriting:
    """What one call may write under one policy; `canonical` judges a path for writing and gives its canonical name."""

    def __init__(
        self, roots: Roots, policy: Policy, host: Host, leftovers: Leftovers | None, canonical: Callable[[str], str]
    ) -> None:
        self._roots = roots
        self._policy = policy
        self._host = host
        self._leftovers = leftovers
        self._canonical = canonical

    def write_atomic(self, path: str, data: bytes, mode: int | None, expected: Expected) -> Version:
        """Make a file have these bytes, whole or not at all, and return its version once it is on the disk.

        A link inside of the roots stays one and its target is written. Missing directories are made. A replaced file
        keeps its mode, owner and attributes; `mode` is for another one. `expected` "absent" makes a file only.

        Raises:
            Denied: the policy refuses it, or other names lead to the same file.
            ServerError: FILE_CHANGED when it is not the expected version, and the like.
        """
        for _ in range(TRIES):
            found = self._canonical(path)
            try:
                return self._write(found, data, mode, expected)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOENT, errno.ENOTDIR):
                    raise told(error, path) from error
                last = error
        raise told(last, path) from last

    def check_replace(self, path: str) -> None:
        """Do nothing where `write_atomic` would replace what stands there, or make it; raise as it does otherwise."""
        found = self._canonical(path)
        try:
            with self._parent(found) as (parent, name), _existing(parent, name) as old:
                self._check(found, old, "any")
        except FileNotFoundError:
            return
        except OSError as error:
            raise told(error, path) from error

    def remove(self, path: str, expected: Expected) -> None:
        """Remove a file (a link's target, not the link). Raise as `write_atomic` does."""
        found = self._canonical(path)
        try:
            with self._parent(found) as (parent, name):
                with _existing(parent, name) as old:
                    if old is None:
                        raise ServerError("FILE_NOT_FOUND", f"{path} does not exist.")
                    self._check(found, old, expected)
                os.unlink(name, dir_fd=parent)
        except OSError as error:
            raise told(error, path) from error

    def _write(self, found: str, data: bytes, mode: int | None, expected: Expected) -> Version:
        hold = self._leftovers.hold(self._policy.workspace) if self._leftovers is not None else None
        try:
            with self._parent(found, make=True) as (parent, name), _existing(parent, name) as old:
                self._check(found, old, expected)

                def note(temporary: str) -> None:
                    if hold is not None:
                        hold.note(os.path.join(os.path.dirname(found), temporary))

                def unchanged() -> bool:
                    with _existing(parent, name) as now:
                        return _is_expected(now, expected) if expected != "any" else (now is None) == (old is None)

                if not put(parent, name, data, mode, old, note=note, unchanged=unchanged):
                    raise changed(found)
                with _existing(parent, name) as made:
                    return version_of(made) if made is not None else Version(0, len(data), 0, digest_of(data))
        finally:
            if hold is not None:
                hold.release()

    def _check(self, found: str, old: int | None, expected: Expected) -> None:
        if not _is_expected(old, expected):
            raise changed(found)
        if old is None:
            return
        facts = os.fstat(old)
        if not stat.S_ISREG(facts.st_mode):
            raise ServerError("NOT_A_FILE", f"{found} is no regular file.")
        bound = self._policy.level != "full-access" and found not in self._policy.allowed_paths
        if facts.st_nlink > 1 and bound and "/.git/" not in found:
            raise Denied(Refusal("write", found, "linked"), self._policy, self._host)

    @contextmanager
    def _parent(self, found: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the directory of a canonical path; missing ones are made on the way when asked."""
        folder, name = os.path.split(found)
        directory, rest = self._roots.nearest(folder)
        flags = PATH_ONLY | os.O_DIRECTORY
        try:
            parent = open_strictly(rest, flags, directory=directory)
        except FileNotFoundError:
            if not make:
                raise
            parent = _make_directories(directory, rest)
        try:
            yield parent, name
        finally:
            os.close(parent)


@contextmanager
def _existing(parent: int, name: str) -> Iterator[int | None]:
    """Open a file for its facts and bytes, or give None; a link in its place is a loop."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_expected(now: int | None, expected: Expected) -> bool:
    if expected == "any":
        return True
    if expected == "absent" or now is None:
        return now is None and expected == "absent"
    return same_version(version_of(now, whole=expected.digest is not None), expected)


def _make_directories(directory: int, rest: str) -> int:
    held = os.dup(directory)
    try:
        for part in rest.split("/"):
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=held)
            step = os.open(part, PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=held)
            os.close(held)
            held = step
    except BaseException:
        os.close(held)
        raise
    return held
