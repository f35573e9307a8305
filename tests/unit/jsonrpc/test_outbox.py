from __future__ import annotations

import asyncio

from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.jsonrpc.outbox import MERGED_CHARACTERS, Outbox


def render(text: str) -> bytes:
    return f"<{text}>\n".encode()


def other(text: str) -> bytes:
    return f"({text})\n".encode()


def test_frames_leave_in_order() -> None:
    box = Outbox()
    box.put(b"a\n")
    box.put_mergeable(1, "b", render)
    box.put(b"c\n")
    assert box.take() == b"a\n<b>\nc\n"
    assert box.take() == b""


def test_neighbouring_deltas_of_one_key_are_one_frame() -> None:
    box = Outbox()
    for text in "abc":
        box.put_mergeable(("s", "m"), text, render)
    box.put_mergeable(("s", "n"), "d", other)
    box.put_mergeable(("s", "m"), "e", render)
    assert box.take() == b"<abc>\n(d)\n<e>\n"


def test_a_frame_between_keeps_deltas_apart() -> None:
    box = Outbox()
    box.put_mergeable(1, "a", render)
    box.put(b"x\n")
    box.put_mergeable(1, "b", render)
    assert box.take() == b"<a>\nx\n<b>\n"


def test_what_was_taken_is_not_joined_any_more() -> None:
    box = Outbox()
    box.put_mergeable(1, "a", render)
    assert box.take() == b"<a>\n"
    box.put_mergeable(1, "b", render)
    assert box.take() == b"<b>\n"


def test_a_merged_frame_is_bounded_and_loses_nothing() -> None:
    box = Outbox()
    for _ in range(130):
        box.put_mergeable(1, "x" * 1000, render)
    box.put_mergeable(1, "y" * (2 * MERGED_CHARACTERS + 5), render)
    frames = [frame[1:-1] for frame in box.take(1 << 30).splitlines()]
    assert max(map(len, frames)) <= MERGED_CHARACTERS
    assert b"".join(frames) == b"x" * 130_000 + b"y" * (2 * MERGED_CHARACTERS + 5)
    assert len(frames) == 5


def test_an_empty_delta_is_no_frame() -> None:
    box = Outbox()
    box.put_mergeable(1, "", render)
    assert box.take() == b""
    assert box.size == 0


def test_a_take_is_bounded_but_gives_one_frame_at_least() -> None:
    box = Outbox()
    for frame in (b"aaaa\n", b"bbbb\n", b"cccccccccccc\n", b"d\n"):
        box.put(frame)
    assert [box.take(10), box.take(10), box.take(10), box.take(10)] == [
        b"aaaa\nbbbb\n",
        b"cccccccccccc\n",
        b"d\n",
        b"",
    ]


def test_a_delta_that_did_not_fit_keeps_its_place() -> None:
    box = Outbox()
    box.put(b"aaaa\n")
    box.put_mergeable(1, "bbbb", render)
    box.put(b"c\n")
    assert box.take(8) == b"aaaa\n"
    box.put_mergeable(1, "d", render)
    assert box.take() == b"<bbbb>\nc\n<d>\n"


def test_sizes_come_back_to_nothing() -> None:
    box = Outbox(mark=10)
    box.put(b"12345\n")
    assert (box.size, box.behind) == (6, False)
    box.put_mergeable(1, "é" * 10, render)
    assert box.behind
    box.take(6)
    assert box.behind
    box.wrote()
    box.take()
    assert box.size == len(render("é" * 10))
    box.wrote()
    assert (box.size, box.behind) == (0, False)


def test_the_listener_hears_each_end_of_emptiness() -> None:
    box = Outbox()
    heard: list[int] = []
    box.put(b"a\n")
    box.listen(lambda: heard.append(1))
    assert heard == [1]
    box.put(b"b\n")
    assert heard == [1]
    box.take()
    box.put(b"c\n")
    assert heard == [1, 1]


def test_the_tap_sees_frames_one_by_one() -> None:
    seen: list[bytes] = []
    box = Outbox(tap=seen.append)
    box.put(b"a\n")
    box.put_mergeable(1, "b", render)
    assert seen == []
    box.take()
    assert seen == [b"a\n", b"<b>\n"]


def test_beyond_the_limit_it_closes_and_frees() -> None:
    box = Outbox(limit=10)
    heard: list[bool] = []
    box.listen(lambda: heard.append(box.closed))
    box.put(b"12345\n")
    box.put(b"67890\n")
    assert heard == [False, True]
    assert (box.closed, box.size, box.take()) == (True, 0, b"")
    box.put(b"dropped\n")
    box.put_mergeable(1, "dropped", render)
    assert box.take() == b""


async def test_room_waits_until_under_the_mark() -> None:
    box = Outbox(mark=10)
    assert await box.room()
    box.put(b"123456789\n")
    waiting = asyncio.ensure_future(box.room())
    await asyncio.sleep(0)
    box.take()
    await asyncio.sleep(0)
    assert not waiting.done()
    box.wrote()
    assert await waiting


async def test_room_does_not_outlast_cancellation() -> None:
    box, token = Outbox(mark=1), CancelToken()
    box.put(b"a\n")
    waiting = asyncio.ensure_future(box.room(token))
    await asyncio.sleep(0)
    assert not waiting.done()
    token.cancel(BY_USER)
    assert await waiting
    assert await box.room(token)
    assert box._waiters == []


async def test_flushed_waits_for_what_was_put_before_it() -> None:
    box = Outbox()
    assert await box.flushed()
    box.put(b"a\n")
    first = asyncio.ensure_future(box.flushed())
    await asyncio.sleep(0)
    box.put(b"b\n")
    second = asyncio.ensure_future(box.flushed())
    await asyncio.sleep(0)
    assert box.take(2) == b"a\n"
    box.wrote()
    await asyncio.sleep(0)
    assert (first.done(), second.done()) == (True, False)
    box.take()
    box.wrote()
    assert [await first, await second] == [True, True]


async def test_drained_waits_for_a_mark_of_its_own() -> None:
    box = Outbox()
    box.put(b"12345\n")
    box.put(b"12345\n")
    waiting = asyncio.ensure_future(box.drained(6))
    await asyncio.sleep(0)
    box.take(6)
    await asyncio.sleep(0)
    assert not waiting.done()
    box.wrote()
    assert await waiting
    assert box.size == 6


async def test_closing_lets_everybody_go() -> None:
    box = Outbox(mark=1)
    box.put(b"a\n")
    waits = [asyncio.ensure_future(wait) for wait in (box.room(), box.flushed(), box.drained())]
    await asyncio.sleep(0)
    box.close()
    assert await asyncio.gather(*waits) == [False, False, False]
    assert [await box.room(), await box.flushed(), await box.drained()] == [False, False, False]


async def test_a_wait_that_is_cancelled_is_forgotten() -> None:
    box = Outbox(mark=1)
    box.put(b"a\n")
    waiting = asyncio.ensure_future(box.room())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert box._waiters == []
