"""Protected names that no mount holds: what they were is kept, compared after a command, and put back.

Owns the one repair of a workspace that the sandbox makes (docs/sandbox.md, clauses Q-1 to Q-4). What a command had put
there is moved aside, never deleted. It follows no link: a folder on the way that is not the one it was is put back
first. What is larger than the limits counts as changed when its facts differ, and is then only reported.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from acp_server.base.values import value

FILES_LIMIT: Final = 512
BYTES_LIMIT: Final = 8 << 20
ASIDE: Final = ".acp-server-set-aside-"

_Kind: TypeAlias = Literal["missing", "file", "directory", "link", "other"]
_Facts: TypeAlias = tuple[int, int, int]


@value
class _Kept:
    """One name as it was."""

    kind: _Kind = "missing"
    mode: int = 0
    data: bytes = b""
    facts: _Facts = (0, 0, 0)


class Quarantine:
    """The names of one command, by path, and the folders on the way to them."""

    def __init__(self, names: tuple[str, ...], folders: tuple[str, ...], place: str) -> None:
        """Take in what the names are: each may be a file, a directory, a link, or missing.

        `folders` are the directories between a workspace and the names, `place` is where things are set aside.
        """
        self._place = place
        self._folders = {path: _identity(path) for path in sorted(folders)}
        self._names = {name: _snapshot(name) for name in names}

    def restore(self) -> tuple[str, ...]:
        """Put back every name that is not what it was, and return these names in order."""
        moved = [path for path, identity in self._folders.items() if self._put_folder_back(path, identity)]
        changed = [name for name, kept in self._names.items() if _snapshot(name) != kept]
        for name in changed:
            with suppress(OSError):
                self._put_back(name, self._names[name])
        return tuple(sorted({*moved, *changed}))

    def _put_folder_back(self, path: str, identity: tuple[int, int] | None) -> bool:
        if identity is None or _identity(path) == identity:
            return False
        with suppress(OSError):
            if os.path.lexists(path):
                self._set_aside(path)
            parent = os.path.dirname(path)
            for entry in os.listdir(parent):
                if _identity(os.path.join(parent, entry)) == identity:
                    os.rename(os.path.join(parent, entry), path)
        return True

    def _put_back(self, name: str, kept: dict[str, _Kept]) -> None:
        if any(row.kind == "other" for row in kept.values()):
            return
        if os.path.realpath(os.path.dirname(name)) != os.path.dirname(name):
            return
        if os.path.lexists(name):
            self._set_aside(name)
        if kept[name].kind != "missing":
            os.makedirs(os.path.dirname(name), exist_ok=True)
            for path, row in sorted(kept.items()):
                _write(path, row)

    def _set_aside(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path):
            os.rmdir(path)
            return
        name = f"{ASIDE}{secrets.token_hex(4)}-{os.path.basename(path)}"
        try:
            os.makedirs(self._place, 0o700, exist_ok=True)
            os.rename(path, os.path.join(self._place, name))
        except OSError:  # another disk: it stays where it was, under a name that nothing runs
            os.rename(path, os.path.join(os.path.dirname(path), name))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISDIR(facts.st_mode) else None


def _snapshot(name: str) -> dict[str, _Kept]:
    found: dict[str, _Kept] = {}
    waiting, left = [name], BYTES_LIMIT
    while waiting and len(found) < FILES_LIMIT:
        path = waiting.pop()
        found[path] = kept = _look(path, left)
        left -= len(kept.data)
        if kept.kind == "directory":
            with suppress(OSError):
                waiting += sorted((os.path.join(path, entry) for entry in os.listdir(path)), reverse=True)
    if waiting:
        found[name] = _Kept("other")
    return found


def _look(path: str, most: int) -> _Kept:
    try:
        facts = os.lstat(path)
        mode = stat.S_IMODE(facts.st_mode)
        if stat.S_ISLNK(facts.st_mode):
            return _Kept("link", 0, os.fsencode(os.readlink(path)))
        if stat.S_ISDIR(facts.st_mode):
            return _Kept("directory", mode)
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= most:
            with open(path, "rb") as file:
                return _Kept("file", mode, file.read(most + 1))
    except FileNotFoundError:
        return _Kept()
    except OSError:
        return _Kept("other")
    return _Kept("other", mode, b"", (facts.st_mtime_ns, facts.st_size, facts.st_ino))


def _write(path: str, kept: _Kept) -> None:
    if kept.kind == "directory":
        os.makedirs(path, exist_ok=True)
        os.chmod(path, kept.mode)
    elif kept.kind == "link":
        os.symlink(os.fsdecode(kept.data), path)
    elif kept.kind == "file":
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, kept.data)
            os.fchmod(descriptor, kept.mode)
        finally:
            os.close(descriptor)
