"""Runs the log's own code on a disk that forgets, cuts the power after every call, and holds what is left to promises.

I1 no promised event is lost. I2 what is read is a prefix of what was appended, and its closers. I3 the same when the
power goes again while the first cut is repaired. I4 what is appended after that is read back. I5 no crash is taken for
damage. I6 what is dropped is kept aside. I0 nothing else is raised.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import TORN_PREFIX, LogPlace
from acp_server.persistence.places import find_place
from acp_server.persistence.port import PersistenceError
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.repair import closing_events
from tests.crash.disk import Disk, Faults, image
from tests.crash.power import State, states
from tests.support.logs import event, random_events, whole_turn

ROOT: Final = "/home/sessions"
HEADER: Final = SessionHeader(SessionId("s-1"), 1_750_000_000_000, "/p")
NESTED_EVERY: Final = 40
NESTED_STATES: Final = 25


@dataclass(frozen=True)
class Story:
    """A disk after a workload, and every event that was appended to the session in it."""

    disk: Disk
    events: Sequence[SessionEvent]
    broken: tuple[str, ...] = ()
    """Promises that were broken while the story went on."""


def store_on(disk: Disk, encoding: Encoding) -> Store:
    return Store(disk, ROOT, encoding, Owner(1, "here", 1))


def commit(disk: Disk, files: HeldSession, events: list[SessionEvent]) -> None:
    disk.due_ack = events[-1].seq
    files.commit(events)
    disk.ack(events[-1].seq)


def workload(random: Random, encoding: Encoding) -> Story:
    """Write a session in several lives; now and then a write fails, a batch is retried, a turn breaks off."""
    disk = Disk()
    disk.make_dir("/home")
    disk.sync_dir("/")
    store = store_on(disk, encoding)
    files = store.fresh(HEADER)
    events: list[SessionEvent] = []
    for _ in range(random.choice([3, 5])):
        batch = _next_batch(random, len(events))
        events += batch
        _plan_faults(random, disk)
        if not _write(disk, files, batch):
            return Story(disk, events)
        if random.random() < 0.3:
            files.release()
            files, loaded = store.open(HEADER.id)
            events = list(loaded.log.since(0))
            disk.ack(len(events) - 1)
    return Story(disk, events)


def _next_batch(random: Random, seq: int) -> list[SessionEvent]:
    if random.random() < 0.3:
        turn = whole_turn(seq, 1 + seq, 6)
        return turn if random.random() < 0.5 else turn[: random.randint(1, 8)]
    return random_events(random, random.choice([1, 2, 5]), seq)


def _plan_faults(random: Random, disk: Disk) -> None:
    disk.faults = Faults()
    if random.random() < 0.3:
        disk.faults = Faults(write={random.choice([0, 1]): random.choice([errno.ENOSPC, errno.EIO])}, short=200)
    elif random.random() < 0.1:
        disk.faults = Faults(sync={0: errno.EIO})


def _write(disk: Disk, files: HeldSession, batch: list[SessionEvent]) -> bool:
    """Commit, again after a failure that allows it; return False for a log that must not be written any more."""
    for _ in range(3):
        try:
            commit(disk, files, batch)
        except PersistenceError as error:
            if error.code == "DISK_POISONED":
                return _write_nothing_more(disk, files, batch)
            continue
        return True
    return False


def _write_nothing_more(disk: Disk, files: HeldSession, batch: list[SessionEvent]) -> bool:
    disk.faults = Faults()
    try:
        commit(disk, files, batch)
    except PersistenceError as error:
        return error.code != "DISK_POISONED"
    return True


def check(
    state: State,
    events: Sequence[SessionEvent],
    encoding: Encoding,
    random: Random,
    nested: int,
    who: SessionId = HEADER.id,
) -> list[str]:
    """Return which promises a disk breaks; with `nested`, also after so many power cuts during its repair."""
    disk = image(*state.origin)
    before = _log_bytes(disk, who)
    try:
        read, files = _open(disk, encoding, who)
    except PersistenceError as error:
        return [f"I5 taken for damage: {error.code}"]
    except Exception as error:
        return [f"I0 {type(error).__name__}: {error}"]
    broken = _promises(state.acked, read, events)
    if files is None or broken:
        return broken
    if not _kept_aside(disk, before, _log_bytes(disk, who), who):
        broken.append("I6 dropped bytes are gone")
    more = [event(len(read) + at, "session/title", {"title": f"later {at}", "messageSeqs": []}) for at in range(2)]
    broken += _goes_on(disk, files, read, more, encoding, who)
    if nested and not broken:
        broken += _again(disk, state.acked, [*read, *more], encoding, random, nested, who)
    return broken


def _open(disk: Disk, encoding: Encoding, who: SessionId) -> tuple[list[SessionEvent], HeldSession | None]:
    try:
        files, loaded = store_on(disk, encoding).open(who)
    except PersistenceError as error:
        if error.code == "SESSION_NOT_FOUND":
            return [], None
        raise
    return list(loaded.log.since(0)), files


def _promises(acked: int, read: list[SessionEvent], events: Sequence[SessionEvent]) -> list[str]:
    same = 0
    while same < len(read) and same < len(events) and read[same] == events[same]:
        same += 1
    broken = []
    if same <= acked:
        broken.append("I1 a promised event is lost")
    if read[same:] not in ([], closing_events(PackedLog(read[:same]))):
        broken.append("I2 what is read was never appended")
    return broken


def _goes_on(
    disk: Disk,
    files: HeldSession,
    read: list[SessionEvent],
    more: list[SessionEvent],
    encoding: Encoding,
    who: SessionId,
) -> list[str]:
    disk.ack(len(read) - 1)
    try:
        commit(disk, files, more)
        files.release()
        again, opened = _open(disk, encoding, who)
    except PersistenceError as error:
        return [f"I4 not usable afterwards: {error.code}"]
    if opened is not None:
        opened.release()
    return [] if again[: len(read) + len(more)] == read + more else ["I4 what was appended afterwards is lost"]


def _again(
    disk: Disk,
    acked: int,
    events: Sequence[SessionEvent],
    encoding: Encoding,
    random: Random,
    most: int,
    who: SessionId,
) -> list[str]:
    """Cut the power again behind each call of the repair and of the first append after it."""
    after = list(states(disk.calls, random, disk.origin))
    for cut in random.sample(after, min(most, len(after))):
        later = State(cut.index, max(cut.acked, acked), cut.origin)
        for broken in check(later, events, encoding, random, 0, who):
            return [f"I3 {broken}"]
    return []


def _log_bytes(disk: Disk, who: SessionId) -> bytes:
    place = _place(disk, who)
    return b"" if place is None else bytes(disk.files[disk._node(place.path).inode])


def _place(disk: Disk, who: SessionId) -> LogPlace | None:
    try:
        return find_place(disk, ROOT, who)
    except OSError:
        return None


def _kept_aside(disk: Disk, before: bytes, after: bytes, who: SessionId) -> bool:
    place = _place(disk, who)
    if after.startswith(before) or place is None:
        return after.startswith(before)
    common = 0
    while common < min(len(before), len(after)) and before[common] == after[common]:
        common += 1
    dropped = before[common:]
    names = [name for name in disk.list_dir(place.directory) if name.startswith(TORN_PREFIX)]
    kept = [disk.files[disk._node(f"{place.directory}/{name}").inode] for name in names]
    return not dropped or any(bytes(one).endswith(dropped) for one in kept)


def campaign(
    seed: int,
    most: int,
    encoding: Encoding = "zstd",
    story: Callable[[Random, Encoding], Story] = workload,
    *,
    stop: bool = False,
) -> tuple[int, Counter[str]]:
    """Return how many states were held to the promises and how often each was broken."""
    random = Random(seed)
    seen, broken = 0, Counter[str]()
    while seen < most:
        told = story(random, encoding)
        broken.update(told.broken)
        for state in states(told.disk.calls, random, told.disk.origin):
            seen += 1
            nested = NESTED_STATES if seen % NESTED_EVERY == 0 else 0
            broken.update(check(state, told.events, encoding, random, nested))
            if seen >= most or (stop and broken):
                return seen, broken
    return seen, broken
