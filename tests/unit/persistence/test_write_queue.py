from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.port import PersistenceError, StorageHealth
from acp_server.persistence.records import decode_batch, encode_items
from acp_server.persistence.rows import Item
from acp_server.persistence.workers import Workers
from acp_server.persistence.write_queue import QueueLimits, WriteQueue
from acp_server.session.events import SessionEvent
from tests.support.logs import text_delta, user_message

FULL = PersistenceError("DISK_FULL", "Cannot write /x: the disk is full.")
POISON = PersistenceError("DISK_POISONED", "The disk did not confirm a write.")
NEVER = QueueLimits(window=3600, first_retry=3600)


class Disk:
    """What a queue commits to: it keeps batches, fails as told, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[SessionEvent]] = []
        self.failures: list[PersistenceError] = []
        self.gate = Event()
        self.gate.set()
        self.started = 0

    def commit(self, items: list[Item], first_seq: int, next_seq: int) -> None:
        self.started += 1
        self.gate.wait(10)
        if self.failures:
            raise self.failures.pop(0)
        entries = decode_batch(encode_items(items), first_seq)
        events = list(PackedLog(entries, first_seq).since(first_seq))
        assert events[-1].seq == next_seq - 1
        self.batches.append(events)


class Desk:
    """A queue over such a disk, and what it told of its health."""

    def __init__(self, limits: QueueLimits = NEVER) -> None:
        self.disk = Disk()
        self.told: list[StorageHealth] = []
        self.workers = Workers(1)
        self.queue = WriteQueue(
            SessionId("s"), self.disk.commit, self.workers, limits=limits, on_health=self.told.append
        )

    def put(self, *seqs: int) -> list[SessionEvent]:
        events = [user_message(seq, f"text {seq}") for seq in seqs]
        for event in events:
            self.queue.put(event)
        return events


@pytest.fixture
async def desk() -> Desk:
    return Desk()


def is_behind(desk: Desk) -> bool:
    return desk.queue.behind


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not come to that")


async def test_one_flush_writes_all_that_was_put_as_one_batch(desk: Desk) -> None:
    events = desk.put(0, 1, 2)
    assert desk.queue.unwritten == 3
    await desk.queue.flush()
    assert (desk.disk.batches, desk.queue.unwritten, desk.told) == ([events], 0, [])
    await desk.queue.flush()
    assert desk.disk.started == 1


async def test_flushes_at_the_same_time_share_one_write(desk: Desk) -> None:
    events = desk.put(0, 1)
    await asyncio.gather(*(desk.queue.flush() for _ in range(20)))
    assert desk.disk.batches == [events]


async def test_events_put_while_a_write_goes_on_form_the_next_batch(desk: Desk) -> None:
    desk.disk.gate.clear()
    first = desk.put(0)
    one = asyncio.create_task(desk.queue.flush())
    await until(lambda: desk.disk.started == 1)
    second = desk.put(1, 2)
    two = asyncio.create_task(desk.queue.flush())
    await asyncio.sleep(0)
    desk.disk.gate.set()
    await asyncio.gather(one, two)
    assert desk.disk.batches == [first, second]


async def test_the_window_writes_by_itself_and_is_not_moved_by_later_events(desk: Desk) -> None:
    events = desk.put(0)
    window = desk.queue._timer
    events += desk.put(1)
    assert window is not None
    assert desk.queue._timer is window
    desk.queue._window_over()
    await until(lambda: bool(desk.disk.batches))
    assert desk.disk.batches == [events]
    desk.put(2)
    assert desk.queue._timer not in (None, window)


async def test_a_window_that_ends_during_a_write_is_served_right_after_it(desk: Desk) -> None:
    desk.disk.gate.clear()
    first = desk.put(0)
    desk.queue._window_over()
    await until(lambda: desk.disk.started == 1)
    second = desk.put(1)
    desk.queue._window_over()
    assert desk.disk.started == 1
    desk.disk.gate.set()
    await until(lambda: len(desk.disk.batches) == 2)
    assert desk.disk.batches == [first, second]


async def test_a_failure_keeps_events_and_order_and_the_next_flush_tries_again(desk: Desk) -> None:
    desk.disk.failures = [FULL]
    first = desk.put(0, 1)
    with pytest.raises(PersistenceError) as caught:
        await desk.queue.flush()
    assert caught.value is FULL
    more = desk.put(2)
    assert desk.queue.unwritten == 3
    await desk.queue.flush()
    assert [event for batch in desk.disk.batches for event in batch] == first + more
    await asyncio.sleep(0)
    assert [(health.state, health.reason, health.pending) for health in desk.told] == [
        ("failing", FULL.message, 2),
        ("ok", None, 0),
    ]


async def test_a_failing_write_is_tried_again_by_itself() -> None:
    desk = Desk(QueueLimits(window=0.001, first_retry=0.001, last_retry=0.002))
    desk.disk.failures = [FULL] * 5
    events = desk.put(0)
    await until(lambda: bool(desk.disk.batches))
    await until(lambda: desk.queue.unwritten == 0)
    await asyncio.sleep(0)
    assert (desk.disk.batches, desk.disk.started) == ([events], 6)
    assert [health.state for health in desk.told] == ["failing", "ok"]


async def test_a_flush_does_not_fail_for_a_write_that_began_before_it(desk: Desk) -> None:
    desk.disk.gate.clear()
    desk.disk.failures = [FULL]
    events = desk.put(0)
    early = asyncio.create_task(desk.queue.flush())
    await until(lambda: desk.disk.started == 1)
    late = asyncio.create_task(desk.queue.flush())
    await asyncio.sleep(0)
    desk.disk.gate.set()
    results = await asyncio.gather(early, late, return_exceptions=True)
    assert (list(results), desk.disk.batches) == ([FULL, None], [events])


async def test_a_poisoned_log_is_never_written_again_and_keeps_what_it_has(desk: Desk) -> None:
    desk.disk.failures = [POISON]
    desk.put(0)
    for _ in range(2):
        with pytest.raises(PersistenceError) as caught:
            await desk.queue.flush()
        assert caught.value is POISON
    desk.put(1)
    assert (desk.disk.started, desk.queue.unwritten) == (1, 2)
    assert [health.state for health in desk.told] == ["poisoned"]
    assert await desk.queue.close() is POISON


async def test_a_barrier_waits_until_the_disk_takes_everything() -> None:
    desk = Desk(QueueLimits(window=3600, first_retry=0.001, last_retry=0.002))
    desk.disk.failures = [FULL] * 4
    events = desk.put(0, 1)
    await desk.queue.barrier()
    assert (desk.disk.batches, desk.disk.started) == ([events], 5)
    await desk.queue.barrier()
    assert desk.disk.started == 5


async def test_a_barrier_tries_at_once_whatever_the_next_try_waits_for(desk: Desk) -> None:
    desk.disk.failures = [FULL]
    events = desk.put(0)
    with pytest.raises(PersistenceError):
        await desk.queue.flush()
    await desk.queue.barrier()
    assert (desk.disk.batches, desk.disk.started) == ([events], 2)


async def test_a_barrier_ends_when_waiting_is_of_no_use() -> None:
    desk = Desk(QueueLimits(window=3600, first_retry=0.001, last_retry=0.001))
    desk.disk.failures = [FULL, POISON]
    desk.put(0)
    for _ in range(2):
        with pytest.raises(PersistenceError) as caught:
            await desk.queue.barrier()
        assert caught.value is POISON
    assert desk.disk.started == 2


async def test_a_barrier_that_is_given_up_leaves_the_events(desk: Desk) -> None:
    desk.disk.failures = [FULL]
    events = desk.put(0)
    waiting = asyncio.create_task(desk.queue.barrier())
    await until(lambda: desk.disk.started == 1 and desk.queue._timer is not None)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await desk.queue.flush()
    assert desk.disk.batches == [events]


async def test_producers_wait_while_the_queue_is_full() -> None:
    desk = Desk(QueueLimits(window=3600, events=3))
    desk.put(0, 1)
    assert not is_behind(desk)
    await desk.queue.room()
    desk.put(2)
    assert is_behind(desk)
    desk.disk.gate.clear()
    waiting = asyncio.create_task(desk.queue.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    desk.queue._window_over()
    desk.disk.gate.set()
    await waiting
    assert (desk.queue.unwritten, len(desk.disk.batches)) == (0, 1)


async def test_bytes_count_as_well_as_events() -> None:
    desk = Desk(QueueLimits(window=3600, size=10_000))
    desk.queue.put(text_delta(0, "x" * 9_000))
    assert not is_behind(desk)
    desk.queue.put(text_delta(1, "x" * 9_000))
    assert is_behind(desk)
    await desk.queue.flush()
    assert not is_behind(desk)


async def test_waiting_for_room_in_a_poisoned_queue_ends() -> None:
    desk = Desk(QueueLimits(window=0.001, events=1))
    desk.disk.failures = [POISON]
    desk.put(0)
    with pytest.raises(PersistenceError) as caught:
        await desk.queue.room()
    assert caught.value is POISON


async def test_more_than_a_batch_may_hold_is_written_as_several() -> None:
    desk = Desk(QueueLimits(window=3600, batch=5_000))
    events = [text_delta(seq, "x" * 2_000) for seq in range(10)]
    for event in events:
        desk.queue.put(event)
    await desk.queue.flush()
    assert [event for batch in desk.disk.batches for event in batch] == events
    assert [len(batch) for batch in desk.disk.batches] == [3, 3, 3, 1]


async def test_a_cancelled_flush_leaves_the_write_alone(desk: Desk) -> None:
    desk.disk.gate.clear()
    events = desk.put(0)
    flush = asyncio.create_task(desk.queue.flush())
    await until(lambda: desk.disk.started == 1)
    flush.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flush
    desk.disk.gate.set()
    await desk.queue.flush()
    assert desk.disk.batches == [events]


async def test_an_inner_failure_is_named_and_not_tried_again(desk: Desk) -> None:
    def broken(items: list[Item], first_seq: int, next_seq: int) -> None:
        _ = items, first_seq, next_seq
        raise KeyError("secret")

    desk.queue._commit = broken
    desk.put(0)
    with pytest.raises(PersistenceError, match="inner failure \\(KeyError\\)"):
        await desk.queue.flush()
    with pytest.raises(PersistenceError) as caught:
        await desk.queue.flush()
    assert caught.value.code == "DISK_POISONED"
    assert "secret" not in caught.value.message
