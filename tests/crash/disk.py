"""A disk in memory that forgets what was not synced: the log's own port, recorded call by call.

Names belong to directories and become durable when the directory is synced; bytes belong to files and become durable
when the file is synced. `states` (in `power`) says what may be left when power goes after any call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from acp_server.persistence.io_port import FileFacts, OpenMode

ROOT_INODE: Final = 1


class Node(NamedTuple):
    """What a name stands for."""

    inode: int
    is_dir: bool


class Write(NamedTuple):
    inode: int
    offset: int
    data: bytes


class Truncate(NamedTuple):
    inode: int
    size: int


class Sync(NamedTuple):
    inode: int


class Lost(NamedTuple):
    """A failed sync: what was pending may never reach the disk, whatever later syncs say."""

    inode: int


class Entries(NamedTuple):
    """Names of one directory that change together; None removes."""

    directory: int
    changes: tuple[tuple[str, Node | None], ...]


class SyncDir(NamedTuple):
    inode: int


class Ack(NamedTuple):
    """Somebody was told that the events up to `seq` are durable."""

    seq: int


Call: TypeAlias = Write | Truncate | Sync | Lost | Entries | SyncDir | Ack


Origin: TypeAlias = tuple[Mapping[int, bytes], Mapping[int, Mapping[str, Node]]]
"""Durable bytes of files and durable names of directories."""


def failure(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@dataclass
class Faults:
    """Failures to come: at the n-th write, sync or truncate from here on, counted from 0."""

    write: dict[int, int] = field(default_factory=dict)
    sync: dict[int, int] = field(default_factory=dict)
    truncate: dict[int, int] = field(default_factory=dict)
    short: int = 1 << 30
    """No write call takes more bytes than this."""

    def check(self, kind: str) -> None:
        planned: dict[int, int] = getattr(self, kind)
        due = planned.pop(0, None)
        setattr(self, kind, {at - 1: number for at, number in planned.items()})
        if due is not None:
            raise failure(due)


class Disk:
    """LogIo in memory. `calls` is what a power cut may undo."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.files: dict[int, bytearray] = {}
        self.dirs: dict[int, dict[str, Node]] = {ROOT_INODE: {}}
        self.faults = Faults()
        self.due_ack = -1
        self.origin: Origin = ({}, {ROOT_INODE: {}})
        self._inode = ROOT_INODE
        self._handle = 0
        self._handles: dict[int, int] = {}
        self._locks: dict[int, int] = {}
        self._time = 0

    def ack(self, seq: int) -> None:
        self.calls.append(Ack(seq))

    def make_dir(self, path: str) -> bool:
        directory, name = self._parent(path)
        if name in self.dirs[directory]:
            if not self.dirs[directory][name].is_dir:
                raise failure(errno.EEXIST)
            return False
        node = Node(self._new_inode(), is_dir=True)
        self.dirs[node.inode] = {}
        self._change(directory, (name, node))
        return True

    def list_dir(self, path: str) -> list[str]:
        return list(self.dirs[self._directory(path)])

    def facts(self, path: str) -> FileFacts:
        return self._facts(self._node(path))

    def handle_facts(self, handle: int) -> FileFacts:
        return self._facts(Node(self._handles[handle], is_dir=False))

    def open(self, path: str, mode: OpenMode) -> int:
        directory, name = self._parent(path)
        node = self.dirs[directory].get(name)
        if node is None:
            if mode in ("read", "write"):
                raise failure(errno.ENOENT)
            node = Node(self._new_inode(), is_dir=False)
            self.files[node.inode] = bytearray()
            self._change(directory, (name, node))
        elif mode == "create":
            raise failure(errno.EEXIST)
        self._handle += 1
        self._handles[self._handle] = node.inode
        return self._handle

    def read(self, handle: int, size: int, offset: int) -> bytes:
        return bytes(self.files[self._handles[handle]][offset : offset + size])

    def write(self, handle: int, data: bytes, offset: int) -> int:
        self.faults.check("write")
        taken = bytes(data[: self.faults.short])
        inode = self._handles[handle]
        apply(self.files[inode], Write(inode, offset, taken))
        self.calls.append(Write(inode, offset, taken))
        return len(taken)

    def sync(self, handle: int) -> None:
        inode = self._handles[handle]
        try:
            self.faults.check("sync")
        except OSError:
            self.calls.append(Lost(inode))
            raise
        self.calls.append(Sync(inode))

    def truncate(self, handle: int, size: int) -> None:
        self.faults.check("truncate")
        inode = self._handles[handle]
        apply(self.files[inode], Truncate(inode, size))
        self.calls.append(Truncate(inode, size))

    def close(self, handle: int) -> None:
        inode = self._handles.pop(handle)
        if self._locks.get(inode) == handle:
            del self._locks[inode]

    def link(self, source: str, target: str) -> None:
        node = self._node(source)
        directory, name = self._parent(target)
        if name in self.dirs[directory]:
            raise failure(errno.EEXIST)
        self._change(directory, (name, node))

    def rename(self, source: str, target: str) -> None:
        node = self._node(source)
        old, old_name = self._parent(source)
        new, new_name = self._parent(target)
        if old == new:
            self._change(old, (old_name, None), (new_name, node))
        else:
            self._change(new, (new_name, node))
            self._change(old, (old_name, None))

    def unlink(self, path: str) -> None:
        self._node(path)
        directory, name = self._parent(path)
        self._change(directory, (name, None))

    def remove_dir(self, path: str) -> None:
        if self.dirs[self._directory(path)]:
            raise failure(errno.ENOTEMPTY)
        directory, name = self._parent(path)
        self._change(directory, (name, None))

    def remove_tree(self, path: str) -> None:
        for name, node in list(self.dirs[self._directory(path)].items()):
            if node.is_dir:
                self.remove_tree(f"{path}/{name}")
            else:
                self.unlink(f"{path}/{name}")
        self.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        self.calls.append(SyncDir(self._directory(path)))

    def lock(self, handle: int) -> bool:
        return self._locks.setdefault(self._handles[handle], handle) == handle

    def kill(self) -> None:
        """End every process: handles and locks go, what was written stays."""
        self._handles.clear()
        self._locks.clear()

    def _new_inode(self) -> int:
        self._inode += 1
        return self._inode

    def _change(self, directory: int, *changes: tuple[str, Node | None]) -> None:
        apply_entries(self.dirs[directory], changes)
        self.calls.append(Entries(directory, changes))

    def _facts(self, node: Node) -> FileFacts:
        self._time += 1
        size = 0 if node.is_dir else len(self.files[node.inode])
        return FileFacts(size, node.inode, 1, self._time, node.is_dir)

    def _node(self, path: str) -> Node:
        if path == "/":
            return Node(ROOT_INODE, is_dir=True)
        directory, name = self._parent(path)
        if name not in self.dirs[directory]:
            raise failure(errno.ENOENT)
        return self.dirs[directory][name]

    def _directory(self, path: str) -> int:
        node = self._node(path)
        if not node.is_dir:
            raise failure(errno.ENOTDIR)
        return node.inode

    def _parent(self, path: str) -> tuple[int, str]:
        above, _, name = path.rpartition("/")
        return self._directory(above or "/"), name


def apply(data: bytearray, call: Write | Truncate) -> None:
    if isinstance(call, Truncate):
        del data[call.size :]
        return
    if len(data) < call.offset:
        data.extend(bytes(call.offset - len(data)))
    data[call.offset : call.offset + len(call.data)] = call.data


def apply_entries(names: dict[str, Node], changes: tuple[tuple[str, Node | None], ...]) -> None:
    for name, node in changes:
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def image(files: Mapping[int, bytes], dirs: Mapping[int, Mapping[str, Node]]) -> Disk:
    """Return a disk that holds exactly this, all of it durable."""
    disk = Disk()
    disk.origin = (files, dirs)
    disk.dirs = {inode: dict(names) for inode, names in dirs.items()}
    for names in dirs.values():
        for node in names.values():
            if node.is_dir:
                disk.dirs.setdefault(node.inode, {})
            else:
                disk.files[node.inode] = bytearray(files.get(node.inode, b""))
    disk._inode = max([ROOT_INODE, *disk.dirs, *disk.files])
    return disk
