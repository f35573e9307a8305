"""Waiting ends with the token, at the limit, or with the result; nothing is left behind."""

from __future__ import annotations

import asyncio

import pytest

from acp_server.base.cancel import BY_DISPOSAL, BY_USER, Cancelled, CancelToken
from acp_server.llm.waiting import Watch, pause, until
from tests.unit.llm.virtual_time import run


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_the_result_is_returned() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await until(work(), CancelToken()) == 7


async def test_a_failure_is_raised_as_it_is() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await until(work(), CancelToken())


async def test_a_cancelled_token_ends_the_work_before_it_starts() -> None:
    started = []

    async def work() -> None:
        started.append(1)

    cancel = CancelToken()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await until(work(), cancel)
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(Cancelled):
        await until(future, cancel)
    assert (started, future.cancelled()) == ([], True)


async def test_cancellation_ends_the_work_and_waits_for_its_cleaning_up() -> None:
    steps = []

    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            steps.append("clean")

    cancel = CancelToken()
    task = asyncio.create_task(until(work(), cancel))
    await turns()
    cancel.cancel(BY_DISPOSAL)
    with pytest.raises(Cancelled) as caught:
        await task
    assert (caught.value.cause, steps, task.cancelled(), task.cancelling()) == (BY_DISPOSAL, ["clean"], False, 0)
    assert len(asyncio.all_tasks()) == 1


async def test_an_owned_task_is_ended_too() -> None:
    inner = asyncio.create_task(asyncio.sleep(3600))
    cancel = CancelToken()
    task = asyncio.create_task(until(inner, cancel))
    await turns()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await task
    assert inner.cancelled()


async def test_cancellation_from_outside_passes_through() -> None:
    task = asyncio.create_task(until(asyncio.sleep(3600), CancelToken()))
    await turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_both_cancellations_at_once_count_as_the_one_from_outside() -> None:
    cancel = CancelToken()
    task = asyncio.create_task(until(asyncio.sleep(3600), cancel))
    await turns()
    cancel.cancel(BY_USER)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_result_made_in_spite_of_the_cancellation_is_kept() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return "made"
        return "never"

    cancel = CancelToken()
    task = asyncio.create_task(until(stubborn(), cancel))
    await turns()
    cancel.cancel(BY_USER)
    assert await task == "made"


async def test_a_failure_while_ending_becomes_the_cause() -> None:
    async def clumsy() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("late")

    cancel = CancelToken()
    task = asyncio.create_task(until(clumsy(), cancel))
    await turns()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled) as caught:
        await task
    assert isinstance(caught.value.__cause__, ValueError)


async def test_work_may_cancel_its_own_token() -> None:
    cancel = CancelToken()

    async def suicidal() -> str:
        cancel.cancel(BY_USER)
        return "done"

    assert await until(suicidal(), cancel) == "done"
    await turns()

    other = CancelToken()

    async def goes_on() -> None:
        other.cancel(BY_USER)
        await asyncio.sleep(3600)

    with pytest.raises(Cancelled):
        await until(goes_on(), other)
    await turns()


async def test_nested_waits_on_one_token_end_once() -> None:
    cancel = CancelToken()
    task = asyncio.create_task(until(until(asyncio.sleep(3600), cancel), cancel))
    await turns()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await task
    assert task.cancelling() == 0


async def test_nothing_stays_subscribed() -> None:
    cancel = CancelToken()
    await until(asyncio.sleep(0), cancel)
    assert cancel._callbacks == {}


async def test_a_pause_asks_the_clock_it_was_given() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await pause(2.5, CancelToken(), sleep)
    assert slept == [2.5]


async def test_a_pause_ends_with_the_token() -> None:
    cancel = CancelToken()
    task = asyncio.create_task(pause(3600, cancel, asyncio.sleep))
    await turns()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await task


def test_a_watch_counts_each_wait_alone() -> None:
    async def story() -> float:
        watch = Watch(CancelToken(), 10)
        for _ in range(4):
            with watch:
                await asyncio.sleep(9)
        with pytest.raises(TimeoutError), watch:
            await asyncio.sleep(3600)
        watch.close()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return asyncio.get_running_loop().time()

    assert run(story()) == 46


def test_a_watch_does_not_count_the_time_between_waits() -> None:
    async def story() -> float:
        watch = Watch(CancelToken(), 10)
        with watch:
            await asyncio.sleep(1)
        await asyncio.sleep(100)
        with watch:
            await asyncio.sleep(9)
        with pytest.raises(TimeoutError), watch:
            await asyncio.sleep(3600)
        watch.close()
        return asyncio.get_running_loop().time()

    assert run(story()) == 120


async def test_a_watch_refuses_to_wait_for_a_cancelled_token() -> None:
    cancel = CancelToken()
    watch = Watch(cancel)
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled), watch:
        await asyncio.sleep(3600)
    watch.close()
