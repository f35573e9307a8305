"""What a disk may hold after power was cut behind any call.

For files: pending writes in order with the last one torn, any subset of sectors, the new length with zeros or stale
bytes. For names: any subset of a directory's changes that no directory sync covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Final

from tests.crash.disk import (
    ROOT_INODE,
    Ack,
    Call,
    Entries,
    Lost,
    Node,
    Origin,
    Sync,
    SyncDir,
    Truncate,
    Write,
    apply,
    apply_entries,
)

SECTOR: Final = 512
VARIANTS: Final = 60
NOTHING: Final[Origin] = ({}, {ROOT_INODE: {}})


@dataclass(frozen=True)
class State:
    """What is left by a power cut behind call `index`; events up to `acked` had been promised."""

    index: int
    acked: int
    origin: Origin


@dataclass
class _Cut:
    """What is durable and what is pending as calls go by."""

    random: Random
    durable: dict[int, bytes] = field(default_factory=dict)
    pending: dict[int, list[Write | Truncate]] = field(default_factory=dict)
    names: dict[int, dict[str, Node]] = field(default_factory=lambda: {ROOT_INODE: {}})
    changes: list[Entries] = field(default_factory=list)
    stale: dict[int, bytes] = field(default_factory=dict)
    acked: int = -1

    def take(self, call: Call) -> None:
        match call:
            case Write():
                self.pending.setdefault(call.inode, []).append(call)
            case Truncate():
                self._keep_stale(call.inode, self._landed(call.inode))
                self.pending.setdefault(call.inode, []).append(call)
            case Sync():
                self.durable[call.inode] = self._landed(call.inode)
                self._keep_stale(call.inode, self.durable[call.inode])
                self.pending.pop(call.inode, None)
            case Lost():
                size = len(self._landed(call.inode))
                kept = self.durable.get(call.inode, b"")[:size]
                self.durable[call.inode] = kept + bytes(size - len(kept))
                self.pending.pop(call.inode, None)
            case Entries():
                self.changes.append(call)
            case SyncDir():
                for change in [one for one in self.changes if one.directory == call.inode]:
                    self._apply(self.names, change)
                self.changes = [one for one in self.changes if one.directory != call.inode]
            case Ack():
                self.acked = max(self.acked, call.seq)

    def images(self) -> Iterator[Origin]:
        for chosen in self._subsets():
            names = {inode: dict(entries) for inode, entries in self.names.items()}
            for change in chosen:
                self._apply(names, change)
            inodes = {node.inode for entries in names.values() for node in entries.values() if not node.is_dir}
            variants: list[dict[int, bytes]] = [{}]
            for inode in sorted(inodes):
                contents = self._contents(inode)
                variants = [{**variant, inode: content} for variant in variants for content in contents]
                if len(variants) > VARIANTS:
                    variants = self.random.sample(variants, VARIANTS)
            for variant in variants:
                yield variant, names

    def _subsets(self) -> list[list[Entries]]:
        changes = self.changes
        chosen = [changes[:end] for end in range(len(changes) + 1)]
        if 1 < len(changes) <= 5:
            chosen += [list(some) for size in range(1, len(changes)) for some in combinations(changes, size)]
        return chosen

    def _contents(self, inode: int) -> list[bytes]:
        base = self.durable.get(inode, b"")
        pending = self.pending.get(inode, [])
        if not pending:
            return [base]
        return list(dict.fromkeys([*self._torn(base, pending), *self._sectors(inode, base, pending)]))

    def _torn(self, base: bytes, pending: Sequence[Write | Truncate]) -> Iterator[bytes]:
        landed = bytearray(base)
        yield base
        for call in pending:
            if isinstance(call, Write):
                for cut in {0, len(call.data), *(self.random.randrange(len(call.data) + 1) for _ in range(3))}:
                    torn = bytearray(landed)
                    apply(torn, Write(call.inode, call.offset, call.data[:cut]))
                    yield bytes(torn)
            apply(landed, call)
        yield bytes(landed)

    def _sectors(self, inode: int, base: bytes, pending: Sequence[Write | Truncate]) -> Iterator[bytes]:
        final = bytearray(base)
        for call in pending:
            apply(final, call)
        touched = sorted({at for call in pending if isinstance(call, Write) for at in _sectors_of(call)})
        touched = [at for at in touched if at * SECTOR < len(final)]
        if not touched:
            return
        for landed in self._some(touched):
            for fill in range(3):
                data = bytearray(final)
                for at in touched:
                    if at not in landed:
                        start, end = at * SECTOR, min((at + 1) * SECTOR, len(final))
                        data[start:end] = self._fill(fill, inode, base, start, end)
                yield bytes(data)
                if landed and max(landed) < touched[-1]:
                    yield bytes(data[: (max(landed) + 1) * SECTOR])

    def _some(self, sectors: list[int]) -> list[frozenset[int]]:
        if len(sectors) <= 3:
            return [frozenset(some) for size in range(len(sectors) + 1) for some in combinations(sectors, size)]
        return [
            frozenset(at for at in sectors if self.random.random() < share)
            for share in (0, 0.2, 0.5, 0.8)
            for _ in "ab"
        ]

    def _fill(self, kind: int, inode: int, base: bytes, start: int, end: int) -> bytes:
        old = base[start:end]
        missing = end - start - len(old)
        if kind == 0:
            return old + bytes(missing)
        if kind == 1:
            return old + self.random.randbytes(missing)
        stale = self.stale.get(inode, b"")[start + len(old) : end]
        return old + stale + bytes(missing - len(stale))

    def _landed(self, inode: int) -> bytes:
        data = bytearray(self.durable.get(inode, b""))
        for call in self.pending.get(inode, []):
            apply(data, call)
        return bytes(data)

    def _keep_stale(self, inode: int, data: bytes) -> None:
        older = self.stale.get(inode, b"")
        self.stale[inode] = data + older[len(data) :]

    def _apply(self, names: dict[int, dict[str, Node]], change: Entries) -> None:
        apply_entries(names.setdefault(change.directory, {}), change.changes)


def _sectors_of(call: Write) -> range:
    return range(call.offset // SECTOR, (call.offset + max(len(call.data), 1) - 1) // SECTOR + 1)


def states(calls: Sequence[Call], random: Random, origin: Origin = NOTHING) -> Iterator[State]:
    """Iterate over disks that a power cut may leave, behind each call in turn; `origin` was durable before them."""
    files, names = origin
    cut = _Cut(random, dict(files), names={inode: dict(entries) for inode, entries in names.items()})
    cut.stale = dict(files)
    for index, call in enumerate(calls):
        cut.take(call)
        for left in cut.images():
            yield State(index, cut.acked, left)
