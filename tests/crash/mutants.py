"""Logs that are wrong on purpose. A campaign that lets one of them live does not test what it says."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from random import Random
from typing import Any, Final
from unittest.mock import patch

from acp_server.base.ids import SessionId
from acp_server.persistence import attachments, held_session, long_values, recovery, suffix
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.batch_index import encode_index
from acp_server.persistence.batches import Encoding, encode_batch, read_batch
from acp_server.persistence.io_port import LogIo, write_all
from acp_server.persistence.journal import Journal
from acp_server.persistence.lock import Owner
from acp_server.persistence.long_values import Fetch
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import ATTACHMENTS_NAME, INDEX_NAME, LogPlace
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.records import encode_events, encode_items, first_seq
from acp_server.persistence.rows import Item
from acp_server.persistence.scan import BatchSpan, Scan, continue_scan, scan_log
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from tests.crash.campaign import HEADER, Story, commit, store_on, workload
from tests.crash.disk import Disk, Faults, image
from tests.support.logs import random_events, user_message

Tale = Callable[[Random, Encoding], Story]
Patches = Mapping[tuple[object, str], object]


def _fresh_disk() -> Disk:
    disk = Disk()
    disk.make_dir("/home")
    disk.sync_dir("/")
    return disk


def _batches(random: Random, number: int) -> list[list[SessionEvent]]:
    batches: list[list[SessionEvent]] = []
    for _ in range(number):
        batches.append(random_events(random, random.choice([2, 4]), sum(map(len, batches))))
    return batches


def plain_story(random: Random, encoding: Encoding) -> Story:
    """One life without failures."""
    disk = _fresh_disk()
    files = store_on(disk, encoding).fresh(HEADER)
    batches = _batches(random, 4)
    for batch in batches:
        commit(disk, files, batch)
    return Story(disk, [one for batch in batches for one in batch])


def failed_write_story(random: Random, encoding: Encoding) -> Story:
    """A write fails half-way and the same batch is tried again."""
    disk = _fresh_disk()
    files = store_on(disk, encoding).fresh(HEADER)
    batches = _batches(random, 4)
    for number, batch in enumerate(batches):
        if number:
            disk.faults = Faults(write={1: errno.ENOSPC}, short=60)
            with suppress(PersistenceError):
                commit(disk, files, batch)
            disk.faults = Faults()
        if files.stored <= batch[0].seq:
            try:
                commit(disk, files, batch)
            except PersistenceError:
                events = [one for batch in batches[:number] for one in batch]
                return Story(disk, events, ("I9 a failed write cannot be tried again",))
    return Story(disk, [one for batch in batches for one in batch])


def failed_sync_story(random: Random, encoding: Encoding) -> Story:
    """A sync fails once; whoever goes on with the same file is told a lie by the next sync."""
    disk = _fresh_disk()
    files = store_on(disk, encoding).fresh(HEADER)
    batches = _batches(random, 4)
    commit(disk, files, batches[0])
    disk.faults = Faults(sync={0: errno.EIO})
    for batch in batches[1:]:
        try:
            commit(disk, files, batch)
        except PersistenceError:
            continue
    return Story(disk, [one for batch in batches for one in batch])


def two_writers_story(random: Random, encoding: Encoding) -> Story:
    """A second process opens the session while the first has it, and says so when it may."""
    disk = _fresh_disk()
    files = store_on(disk, encoding).fresh(HEADER)
    batches = _batches(random, 3)
    commit(disk, files, batches[0])
    try:
        store_on(disk, encoding).open(HEADER.id)
        return Story(disk, batches[0], ("I7 two processes own one session",))
    except PersistenceError:
        commit(disk, files, batches[1])
    return Story(disk, batches[0] + batches[1])


def same_id_story(random: Random, encoding: Encoding) -> Story:
    """Two processes begin a session of one id; the second finds the first one's log."""
    disk = _fresh_disk()
    first, second = (store_on(disk, encoding).fresh(HEADER) for _ in "ab")
    events = random_events(random, 3)
    commit(disk, first, events)
    first.release()
    with suppress(PersistenceError):
        second.commit(random_events(random, 2))
    return Story(disk, events)


def foreign_index_story(random: Random, encoding: Encoding) -> Story:
    """A table of another log lies beside the log; what is read from the middle has to be right all the same."""
    disk = _fresh_disk()
    store = store_on(disk, encoding)
    files = store.fresh(HEADER)
    batches = _batches(random, 4)
    for batch in batches:
        commit(disk, files, batch)
    files.release()
    events = [one for batch in batches for one in batch]
    place = files.place
    spans = scan_log(bytes(disk.files[disk._node(place.path).inode]), encoding).spans
    wrong = BatchSpan(spans[2].offset, spans[2].end, spans[1].first_seq, spans[1].next_seq)
    handle = disk.open(f"{place.directory}/{INDEX_NAME}", "write")
    disk.truncate(handle, 0)
    write_all(disk, handle, encode_index([spans[0], wrong]), 0)
    seq = spans[1].first_seq
    read = list(store.suffix(HEADER.id, seq).since(seq))
    return Story(disk, events, () if read == events[seq:] else ("I8 the end of the log is read wrongly",))


def torn_story(random: Random, encoding: Encoding) -> Story:
    """A process is killed in mid-write; the next one repairs and goes on."""
    disk = _fresh_disk()
    store = store_on(disk, encoding)
    files = store.fresh(HEADER)
    batches = _batches(random, 3)
    for batch in batches:
        commit(disk, files, batch)
    inode = disk._node(files.place.path).inode
    handle = disk.open(files.place.path, "write")
    disk.write(handle, random.randbytes(random.choice([3, 700])), len(disk.files[inode]))
    disk.kill()
    files, loaded = store.open(HEADER.id)
    disk.ack(len(loaded.log) - 1)
    events = list(loaded.log.since(0))
    more = random_events(random, 3, len(events))
    commit(disk, files, more)
    return Story(disk, [*events, *more])


def killed_story(random: Random, encoding: Encoding) -> Story:
    """A process is killed between write and sync; the next one shows what it reads, which is a promise."""
    disk = _fresh_disk()
    store = store_on(disk, encoding)
    files = store.fresh(HEADER)
    batches = _batches(random, 2)
    commit(disk, files, batches[0])
    inode = disk._node(files.place.path).inode
    handle = disk.open(files.place.path, "write")
    write_all(disk, handle, encode_batch(encoding, encode_events(batches[1])), len(disk.files[inode]))
    disk.kill()
    _, loaded = store.open(HEADER.id)
    disk.ack(len(loaded.log) - 1)
    return Story(disk, batches[0] + batches[1])


SHORT: Final = 300
"""Bytes beyond which a text lies beside the log in the stories below, so that a disk stays small."""


def beside_workload(random: Random, encoding: Encoding) -> Story:
    """Several lives with failures, as ever, in which one event of fifteen lies beside the log."""
    with patch.object(long_values, "LONGEST", SHORT):
        return workload(random, encoding)


def beside_story(random: Random, encoding: Encoding) -> Story:
    """One life without failures; batches have a text that lies beside the log, some the one of another batch."""
    disk = _fresh_disk()
    files = store_on(disk, encoding).fresh(HEADER)
    texts = [random.choice("abcdef") * random.choice([301, 900, 1500]) for _ in range(2)]
    events: list[SessionEvent] = []
    with patch.object(long_values, "LONGEST", SHORT):
        for _ in range(3):
            batch = random_events(random, random.choice([1, 3]), len(events))
            if events or random.random() < 0.5:
                batch.append(user_message(len(events) + len(batch), random.choice(texts)))
            commit(disk, files, batch)
            events += batch
    return Story(disk, events)


def left_name_story(random: Random, encoding: Encoding) -> Story:
    """A process is killed before it syncs the name of a text; the next one keeps the same text."""
    disk = _fresh_disk()
    store = store_on(disk, encoding)
    files = store.fresh(HEADER)
    events = random_events(random, 3)
    commit(disk, files, events)
    text = random.choice("abc") * 700
    folder = f"{files.place.directory}/{ATTACHMENTS_NAME}"
    disk.make_dir(folder)
    attachments._write(disk, f"{folder}/{attachment_id(text.encode())}", text.encode())
    disk.kill()
    files, _ = store.open(HEADER.id)
    said = [user_message(3, text)]
    with patch.object(long_values, "LONGEST", SHORT):
        commit(disk, files, said)
    return Story(disk, events + said)


def forked_story(random: Random, encoding: Encoding) -> Story:
    """A session begins as another one's child, with texts beside both; what is told of it is durable when told."""
    disk = _fresh_disk()
    parent = store_on(disk, encoding).fresh(SessionHeader(SessionId("parent"), 1_750_000_000_000, "/p"))
    events = [user_message(0, "a" * 500), *random_events(random, 2, 1), user_message(3, "b" * 900)]
    with patch.object(long_values, "LONGEST", SHORT):
        parent.commit(events)
        parent.release()
        disk = image({inode: bytes(data) for inode, data in disk.files.items()}, disk.dirs)
        store_on(disk, encoding).fork(parent.header.id, None, HEADER, None)
    disk.ack(len(events) - 1)
    return Story(disk, events)


def _unsynced(self: Disk, handle: int) -> None:
    _ = self, handle


def _commit_early(self: held_session.HeldSession, events: list[SessionEvent]) -> None:
    _io(self).ack(events[-1].seq)
    _COMMIT(self, events)


def _append_acked_unsynced(self: Journal, handle: int, batch: bytes) -> None:
    disk = _io(self)
    write_all(disk, handle, batch, self.length)
    disk.ack(disk.due_ack)
    disk.sync(handle)
    self.length += len(batch)


def _append_in_two(self: Journal, handle: int, batch: bytes) -> None:
    disk = _io(self)
    payload, _ = read_batch(self.place.encoding, batch, 0)
    cut = payload.find(b"\n") + 1
    for lines in (payload[:cut], payload[cut:]):
        if lines:
            part = encode_batch(self.place.encoding, lines)
            write_all(disk, handle, part, self.length)
            self.length += len(part)
    disk.sync(handle)


def _put_back_too_little(self: Journal, handle: int) -> None:
    _io(self).truncate(handle, self.length + 1)


def _put_back_too_much(self: Journal, handle: int) -> None:
    _io(self).truncate(handle, self.length - 1)


def _put_back_nothing(self: Journal, handle: int) -> None:
    self.length = len(_io(self).files[_io(self)._handles[handle]])


def _never_poisoned(self: Journal, error: OSError) -> None:
    _ = error
    self.poison = None


def _temporary_unsynced(self: Journal, path: str, batches: bytes) -> int:
    disk = _io(self)
    handle = disk.open(path, "create")
    write_all(disk, handle, batches, 0)
    return handle


def _written_in_place(self: Journal, path: str, batches: bytes) -> int:
    _ = path
    disk = _io(self)
    handle = disk.open(self.place.path, "create")
    write_all(disk, handle, batches, 0)
    disk.sync(handle)
    return handle


def _published_already(self: Journal, temporary: str) -> None:
    _ = self, temporary


def _published_over(self: Journal, temporary: str) -> None:
    _io(self).rename(temporary, self.place.path)


def _renamed_then_synced(self: Journal, temporary: str) -> None:
    disk = _io(self)
    disk.rename(temporary, self.place.path)
    disk.sync_dir(self.place.directory)


def _no_lock(io: LogIo, directory: str, owner: Owner) -> int:
    _ = owner
    return io.open(f"{directory}/session.lock", "lock")


def _opened_uncut(io: LogIo, found: recovery.Found, journal: Journal) -> None:
    journal.resume(io.open(found.place.path, "write"), len(found.data))


def _cut_before_kept(io: LogIo, found: recovery.Found, journal: Journal) -> None:
    handle = io.open(found.place.path, "write")
    io.truncate(handle, found.scan.good_length)
    io.sync(handle)
    journal.resume(handle, found.scan.good_length)


def _opened_unsynced(io: LogIo, found: recovery.Found, journal: Journal) -> None:
    if found.scan.good_length < len(found.data):
        _OPEN_JOURNAL(io, found, journal)
    else:
        journal.resume(io.open(found.place.path, "write"), found.scan.good_length)


def _looked_too_short(io: LogIo, place: LogPlace, session_id: Any) -> recovery.Found:
    found = _LOOK(io, place, session_id)
    if found.scan.damage is not None and len(found.scan.spans) > 1:
        last = found.scan.spans.pop()
        found.scan.good_length = found.scan.next_seq = last.offset
        found.scan.next_seq = last.first_seq
        found.log = PackedLog(list(found.log.since(0))[: last.first_seq])
        found.stored = last.first_seq
    return found


def _beside_unsynced(io: LogIo, path: str, content: bytes) -> None:
    handle = io.open(f"{path}.tmp", "create")
    write_all(io, handle, content, 0)
    io.close(handle)
    io.rename(f"{path}.tmp", path)


def _names_unsynced(io: LogIo, directory: str, folder: str) -> None:
    _ = io, directory, folder


def _only_its_folder_synced(io: LogIo, directory: str, folder: str) -> None:
    _ = directory
    io.sync_dir(folder)


def _only_missing(io: LogIo, directory: str, contents: Mapping[str, bytes]) -> None:
    folder = f"{directory}/{ATTACHMENTS_NAME}"
    missing = {one: contents[one] for one in contents if not attachments._is_whole(io, f"{folder}/{one}", one)}
    if missing:
        _PUT(io, directory, missing)


def _beside_afterwards(self: held_session.HeldSession, items: list[Item], first_seq: int, next_seq: int) -> None:
    with patch.object(held_session.HeldSession, "_keep_beside", lambda *_: None):
        _COMMIT_ITEMS(self, items, first_seq, next_seq)
    beside: dict[str, bytes] = {}
    encode_items(items, beside)
    self._keep_beside(beside)


def _trusting(scan: Scan, data: bytes, encoding: Encoding, base: int, fetch: Fetch) -> None:
    payload, _ = read_batch(encoding, data, scan.good_length - base)
    scan.next_seq = first_seq(payload) or 0
    continue_scan(scan, data, encoding, base, fetch)


def _io(owner: Journal | held_session.HeldSession) -> Disk:
    io = owner._io
    assert isinstance(io, Disk)
    return io


_COMMIT = held_session.HeldSession.commit
_COMMIT_ITEMS = held_session.HeldSession.commit_items
_LOOK = recovery.look
_PUT = attachments.put_attachments
_OPEN_JOURNAL = recovery._open_journal

MUTANTS: Final[dict[str, tuple[Tale, Patches]]] = {
    "nothing is synced": (plain_story, {(Disk, "sync"): _unsynced}),
    "told before it is synced": (plain_story, {(Journal, "_append"): _append_acked_unsynced}),
    "told before it is written": (plain_story, {(held_session.HeldSession, "commit"): _commit_early}),
    "directories are not synced": (plain_story, {(Disk, "sync_dir"): _unsynced}),
    "made in place": (
        plain_story,
        {(Journal, "_write_temporary"): _written_in_place, (Journal, "_publish"): _published_already},
    ),
    "moved before it is synced": (
        plain_story,
        {(Journal, "_write_temporary"): _temporary_unsynced, (Journal, "_publish"): _renamed_then_synced},
    ),
    "the torn end is not cut": (torn_story, {(recovery, "_open_journal"): _opened_uncut}),
    "too much is cut": (torn_story, {("acp_server.persistence.opening", "look"): _looked_too_short}),
    "two batches, one sync": (plain_story, {(Journal, "_append"): _append_in_two}),
    "a failed sync is forgotten": (failed_sync_story, {(Journal, "_poison_by"): _never_poisoned}),
    "no lock": (two_writers_story, {(held_session, "take_lock"): _no_lock}),
    "put back one byte too little": (failed_write_story, {(Journal, "_put_back"): _put_back_too_little}),
    "put back one byte too much": (failed_write_story, {(Journal, "_put_back"): _put_back_too_much}),
    "not put back": (failed_write_story, {(Journal, "_put_back"): _put_back_nothing}),
    "the temporary file is not synced": (plain_story, {(Journal, "_write_temporary"): _temporary_unsynced}),
    "another's log is replaced": (same_id_story, {(Journal, "_publish"): _published_over}),
    "a foreign table is trusted": (foreign_index_story, {(suffix, "continue_scan"): _trusting}),
    "the torn end is thrown away": (torn_story, {(recovery, "_open_journal"): _cut_before_kept}),
    "what was read is not made durable": (killed_story, {(recovery, "_open_journal"): _opened_unsynced}),
    "a text beside the log is not synced": (beside_story, {(attachments, "_write"): _beside_unsynced}),
    "the name of a text is not synced": (beside_story, {(attachments, "_sync_names"): _names_unsynced}),
    "the folder's own name is not synced": (beside_story, {(attachments, "_sync_names"): _only_its_folder_synced}),
    "a text is kept after its batch": (beside_story, {(held_session.HeldSession, "commit_items"): _beside_afterwards}),
    "a name that is there is taken for durable": (left_name_story, {(held_session, "put_attachments"): _only_missing}),
    "a child's texts are not synced": (forked_story, {(attachments, "_sync_names"): _names_unsynced}),
}


@contextmanager
def wrong(patches: Patches) -> Iterator[None]:
    """Put the wrong parts in the place of the right ones."""
    with ExitStack() as stack:
        for (target, name), replacement in patches.items():
            if isinstance(target, str):
                stack.enter_context(patch(f"{target}.{name}", replacement))
            else:
                stack.enter_context(patch.object(target, name, replacement))
        yield
