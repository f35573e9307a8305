"""Images in memory: how many stay, and what happens to those that cannot be had."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable

import pytest

from acp_server.app.pictures import Pictures, Remembered
from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.base.ids import SessionId
from acp_server.messages.blocks import ImageBlock, Message, ToolResultBlock, UserSource
from acp_server.messages.request import CallConfig, GenerateOptions
from acp_server.persistence.memory import MemoryPersistence
from acp_server.persistence.port import SessionPersistence
from acp_server.session.header import SessionHeader

SESSION = SessionId("s")


class SlowStore(MemoryPersistence):
    """A store in memory that waits for `gate` before it gives the attachment `slow`; `asked` is called then."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = ""
        self.gate = asyncio.Event()
        self.asked: Callable[[], object] = lambda: None

    async def get_attachment(self, session_id: SessionId, attachment_id: str) -> bytes:
        if attachment_id == self.slow:
            self.asked()
            await self.gate.wait()
        return await super().get_attachment(session_id, attachment_id)


class Bench:
    """A store with one session, and pictures that keep 100 characters."""

    def __init__(self) -> None:
        self.store = SlowStore()
        self.reads = 0
        self.pictures = Pictures(self.give, most=100)

    async def give(self) -> SessionPersistence:
        self.reads += 1
        return self.store

    async def put(self, content: bytes) -> str:
        return await self.store.put_attachment(SESSION, content)


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.store.create(SessionHeader(SESSION, 0, "/p"))
    return made


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def image(ident: str) -> ImageBlock:
    return ImageBlock(ident, "image/png", 1, 1, 1)


async def test_what_is_loaded_stays_until_there_is_too_much(bench: Bench) -> None:
    small, other = await bench.put(b"a" * 30), await bench.put(b"b" * 30)
    await bench.pictures.load("s", [small, other, small])
    assert [bench.pictures.find(ident) for ident in (small, other)] == [text(b"a" * 30), text(b"b" * 30)]
    await bench.pictures.load("s", [small])
    assert bench.reads == 2
    bench.pictures.keep("new", b"c" * 30)
    assert [bench.pictures.find(ident) is not None for ident in (small, other, "new")] == [True, False, True]


async def test_what_one_request_needs_is_there_together_whatever_it_takes(bench: Bench) -> None:
    idents = [await bench.put(bytes((n,)) * 60) for n in range(4)]
    inner = ToolResultBlock("c", (image(idents[3]),))
    message = Message("m", "user", (*map(image, idents[:3]), inner), UserSource())
    await bench.pictures.ready(GenerateOptions(CallConfig("p", "m"), (message,), session_id="s"), CancelToken())
    assert all(bench.pictures.of(image(ident)) for ident in idents)
    bench.pictures.keep("new", b"n")
    assert sum(bench.pictures.find(ident) is not None for ident in idents) == 1, "the rest goes with the next one"


async def test_two_that_load_at_once_take_nothing_from_each_other(bench: Bench) -> None:
    idents = [await bench.put(bytes((n,)) * 70) for n in range(4)]
    bench.store.slow = idents[1]
    loading = asyncio.create_task(bench.pictures.load("s", idents[:2]))
    await asyncio.sleep(0)
    await bench.pictures.load("s", idents[2:])
    bench.store.gate.set()
    await loading
    assert all(bench.pictures.find(ident) for ident in idents[:2])


async def test_what_is_gone_is_not_there_and_nothing_is_raised(bench: Bench) -> None:
    there = await bench.put(b"x")
    await bench.pictures.load("s", ["sha256-none", there])
    await bench.pictures.load("unknown", ["other"])
    assert (bench.pictures.find("sha256-none"), bench.pictures.find(there)) == (None, text(b"x"))


async def test_a_request_that_is_cancelled_waits_for_no_disk(bench: Bench) -> None:
    token = CancelToken()
    bench.store.slow, bench.store.asked = "x", lambda: token.cancel(BY_USER)
    message = Message("m", "user", (image("x"),), UserSource())
    with pytest.raises(Cancelled):
        await bench.pictures.ready(GenerateOptions(CallConfig("p", "m"), (message,), session_id="s"), token)


async def test_what_is_kept_beside_the_log_is_in_memory_too(bench: Bench) -> None:
    class Place:
        async def put(self, content: bytes) -> str:
            return await bench.put(content)

    ident = await Remembered(Place(), bench.pictures).put(b"x")
    assert (bench.pictures.find(ident), bench.reads) == (text(b"x"), 0)
