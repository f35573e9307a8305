"""The files of this machine, behind the fence (docs/sandbox.md, clauses F-1 to F-9).

Owns how the fence's answers become those of the port. Blocking calls run in threads.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final, TypeVar

from acp_server.base.errors import ServerError
from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Fence, Folder
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.lists import HOME_SECRETS, SYSTEM_SECRETS, is_workspace_secret, within
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.replacing import Version
from acp_server.sandbox.roots import Roots
from acp_server.sandbox.verdict import verdict
from acp_server.tools.files import Entry, FileContent, FileFacts, Listing, WalkedFile
from acp_server.tools.ignore_rules import Outer
from acp_server.tools.tool import ToolError
from acp_server.tools.walk import rules_in, walk

T = TypeVar("T")

_CODES: Final = {"FILE_NOT_FOUND": "NOT_FOUND", "SANDBOX_DENIED": "DENIED", "FILE_CHANGED": "STALE_FILE"}
_ORDER: Final = {"directory": 0}
_DEEPEST_SECRET: Final = 1 + max(pattern.count("/") for pattern in (*HOME_SECRETS, *SYSTEM_SECRETS))
"""Segments below a home or the root that the longest pattern of secrets has."""


class LocalFiles:
    """Files on disk under one call's policy; see Files."""

    def __init__(self, roots: Roots, policy: Policy, host: Host, leftovers: Leftovers | None = None) -> None:
        self._fence = Fence(roots, policy, host, leftovers)
        self._policy = policy
        self._host = host
        self._fold_case = roots.folds_case
        self._judged: dict[str, bool] = {}

    async def read(self, path: str, most: int, start: int = 0) -> FileContent:
        """See Files."""
        return await asyncio.to_thread(_told, path, lambda: self._read(path, most, start))

    async def facts(self, path: str) -> FileFacts:
        """See Files."""
        return await asyncio.to_thread(_told, path, lambda: self._facts(path))

    async def list_dir(self, path: str, most: int) -> Listing:
        """See Files."""
        return await asyncio.to_thread(_told, path, lambda: self._list(path, most))

    async def check_write(self, path: str) -> str:
        """See Files."""
        return await asyncio.to_thread(_told, path, lambda: self._fence.canonical(path, "write"))

    async def check_read(self, path: str) -> str:
        """Return the canonical path of what reading would show, there or not; raise DENIED where it may not be."""
        return await asyncio.to_thread(_told, path, lambda: self._fence.canonical(path))

    async def check_replace(self, path: str) -> None:
        """Do nothing where the fence would let what stands there be replaced; raise DENIED or NOT_A_FILE otherwise."""
        await asyncio.to_thread(_told, path, lambda: self._fence.check_replace(path))

    async def write(self, path: str, data: bytes, *, expected: Version | None) -> Version:
        """See Files."""
        try:
            return await asyncio.to_thread(
                _told, path, lambda: self._fence.write_atomic(path, data, expected_version=expected or "absent")
            )
        except ToolError as error:
            if error.code == "STALE_FILE" and expected is None:
                raise ToolError("FILE_EXISTS", f"{path} was made by somebody else meanwhile; read it first") from error
            raise

    def walk(self, path: str, *, ignored: bool) -> Iterator[WalkedFile]:
        """See Files."""
        with closing(self._fence.walk(path)) as folders:  # type: ignore[type-var]  # the fence's walk is a generator
            start: Folder = _told(path, lambda: next(folders))
            above = () if ignored else self.rules_above(start.path)
            prefix = start.path.rstrip("/") + "/"

            def skip(relative: str) -> bool:
                return not self.readable(prefix + relative)

            yield from walk(start.descriptor, rules=above, ignored=ignored, skip=skip)

    def rules_above(self, path: str) -> tuple[Outer, ...]:
        """See Files."""
        found: list[Outer] = []
        prefix = ""
        while not self._is_top(path):
            path, _, name = path.rpartition("/")
            prefix = f"{name}/{prefix}"
            with suppress(ServerError, StopIteration), closing(self._fence.walk(path or "/")) as folders:  # type: ignore[type-var]  # a generator
                rules = rules_in(next(folders).descriptor)
                if rules is not None:
                    found.insert(0, (prefix, rules))
        return tuple(found)

    def readable(self, path: str) -> bool:
        """See Files.

        A search asks this of every file that matches. Deeper than patterns of secrets reach, a file may be read when
        its folder may, but for names that are secrets wherever they stand.
        """
        folder, _, name = path.rpartition("/")
        readable = self._judged.get(folder)
        if readable is None:
            deep = folder.count("/") >= _DEEPEST_SECRET + self._host.home.count("/")
            holds_own = any(within(own, folder) for own in self._host.own)
            readable = self._judged[folder] = deep and not holds_own and self._judge(folder)
        return (readable and not is_workspace_secret(name, fold_case=self._fold_case)) or self._judge(path)

    def _judge(self, path: str) -> bool:
        return verdict("read", path, self._policy, self._host, fold_case=self._fold_case) is None

    def _is_top(self, path: str) -> bool:
        """Whether .gitignore files above this directory count for nothing in it."""
        if path in ("", "/", self._policy.workspace, *self._policy.roots):
            return True
        with suppress(ServerError):
            return self._fence.stat(posixpath.join(path, ".git")) is not None
        return False

    def _read(self, path: str, most: int, start: int) -> FileContent:
        found = self._fence.read(path, most, start)
        return FileContent(found.path, found.data, found.size, found.version)

    def _facts(self, path: str) -> FileFacts:
        found = self._fence.stat(path)
        if found is None:
            raise ServerError("FILE_NOT_FOUND", f"{path} does not exist.")
        return FileFacts(found.path, found.kind, found.size, found.mtime_ns)

    def _list(self, path: str, most: int) -> Listing:
        with closing(self._fence.walk(path)) as folders:  # type: ignore[type-var]  # a generator
            folder: Folder = next(folders)
            entries = sorted(folder.entries, key=lambda entry: (_ORDER.get(entry.kind, 1), entry.name))
            shown = tuple(_entry(folder.descriptor, Entry(entry.name, entry.kind)) for entry in entries[:most])
        return Listing(shown, more=len(entries) > most)


def _entry(directory: int, entry: Entry) -> Entry:
    """Return the entry with what its kind has to say: a file's size, a link's target."""
    with suppress(OSError):
        if entry.kind == "link":
            return Entry(entry.name, "link", target=os.readlink(entry.name, dir_fd=directory))
        if entry.kind == "file":
            found = os.stat(entry.name, dir_fd=directory, follow_symlinks=False)
            return Entry(entry.name, "file", found.st_size if stat.S_ISREG(found.st_mode) else 0)
    return entry


def _told(path: str, action: Callable[[], T]) -> T:
    """Return what the action gives; the fence's errors become those of the port."""
    try:
        return action()
    except ServerError as error:
        code = _CODES.get(error.code, error.code)
        if code == "NOT_A_FILE" and error.message.endswith("is a directory."):
            code = "IS_DIRECTORY"
        raise ToolError(code, error.message) from error
    except OSError as error:
        raise ToolError("FILE_ERROR", f"{path}: {error.strerror or 'the disk failed'}") from error
