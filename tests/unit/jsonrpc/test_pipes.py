"""Reader and writer on real descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.pipe_reader import PipeReader
from acp_server.jsonrpc.pipe_writer import PipeWriter


@pytest.fixture
def pipe() -> Iterator[list[int]]:
    """The reading and the writing end; a test that closes one puts -1 in its place."""
    ends = list(os.pipe())
    yield ends
    for fd in ends:
        if fd >= 0:
            os.close(fd)


def close(ends: list[int], which: int) -> None:
    os.close(ends[which])
    ends[which] = -1


async def until(ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not ready():  # noqa: ASYNC110 - descriptors have no event
            await asyncio.sleep(0)


async def take(fd: int, ready: Callable[[bytearray], bool], most: int = 65536) -> bytes:
    """Read as a client does, a piece a turn of the loop, until `ready`."""
    os.set_blocking(fd, False)
    got = bytearray()

    def step() -> bool:
        with contextlib.suppress(BlockingIOError):
            got.extend(os.read(fd, most))
        return ready(got)

    await until(step)
    return bytes(got)


async def test_reads_pieces_and_the_end(pipe: list[int]) -> None:
    got: list[bytes] = []
    PipeReader(pipe[0], got.append).start()
    os.write(pipe[1], b"one")
    await until(lambda: got == [b"one"])
    os.write(pipe[1], b"two")
    await until(lambda: got == [b"one", b"two"])
    close(pipe, 1)
    await until(lambda: got == [b"one", b"two", b""])
    assert os.get_blocking(pipe[0])


@pytest.mark.parametrize("content", [b"", b"hello", b"x" * 200_000])
async def test_reads_a_regular_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    got: list[bytes] = []
    PipeReader(fd, got.append).start()
    await until(lambda: got[-1:] == [b""])
    os.close(fd)
    assert b"".join(got) == content


async def test_reads_the_null_device() -> None:
    fd = os.open(os.devnull, os.O_RDONLY)
    got: list[bytes] = []
    PipeReader(fd, got.append).start()
    await until(lambda: got == [b""])
    os.close(fd)


async def test_a_descriptor_that_cannot_be_read_has_ended() -> None:
    fd = os.open(".", os.O_RDONLY)
    got: list[bytes] = []
    PipeReader(fd, got.append).start()
    await until(lambda: got == [b""])
    os.close(fd)


async def test_an_empty_non_blocking_pipe_has_not_ended(pipe: list[int]) -> None:
    os.set_blocking(pipe[0], False)
    got: list[bytes] = []
    reader = PipeReader(pipe[0], got.append)
    reader._read()
    assert got == []
    reader.start()
    reader.stop()
    reader.stop()


async def test_a_stopped_reader_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"x" * 200_000)
    fd = os.open(path, os.O_RDONLY)
    got: list[bytes] = []
    reader = PipeReader(fd, got.append)
    reader.start()
    await until(lambda: bool(got))
    reader.stop()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    os.close(fd)
    assert len(got) == 1


async def test_writes_at_once_and_together(pipe: list[int]) -> None:
    box, broken = Outbox(), list[int]()
    writer = PipeWriter(pipe[1], box, lambda: broken.append(1))
    box.put(b"a\n")
    writer.start()
    box.put(b"b\n")
    assert await box.flushed()
    assert os.read(pipe[0], 100) == b"a\nb\n"
    assert await writer.finish(1)
    assert (broken, os.get_blocking(pipe[1]), box.closed) == ([], True, True)


async def test_a_slow_reader_gets_everything_in_order(pipe: list[int]) -> None:
    box = Outbox()
    writer = PipeWriter(pipe[1], box, lambda: None)
    writer.start()
    frames = [b"%06d" % n + b"x" * (n % 977) + b"\n" for n in range(2000)]
    for frame in frames:
        box.put(frame)
    whole = b"".join(frames)
    assert await take(pipe[0], lambda got: len(got) >= len(whole), 7919) == whole
    assert await writer.finish(1)


async def test_a_frame_larger_than_the_pipe_is_written_in_parts(pipe: list[int]) -> None:
    box = Outbox()
    writer = PipeWriter(pipe[1], box, lambda: None)
    writer.start()
    frame = b"y" * 1_000_000 + b"\n"
    box.put(frame)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert box.size == len(frame)
    assert await take(pipe[0], lambda got: len(got) >= len(frame)) == frame
    assert await box.flushed()
    writer.stop()


async def test_deltas_merge_while_the_pipe_is_full(pipe: list[int]) -> None:
    box = Outbox()
    writer = PipeWriter(pipe[1], box, lambda: None)
    writer.start()
    box.put(b"x" * 100_000 + b"\n")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for n in range(1000):
        box.put_mergeable("m", str(n % 10), lambda text: f"<{text}>\n".encode())
        await asyncio.sleep(0)
    box.put(b"end\n")
    got = await take(pipe[0], lambda got: got.endswith(b"end\n"))
    assert got.splitlines()[1:] == [b"<" + b"0123456789" * 100 + b">", b"end"]
    writer.stop()


async def test_a_reader_that_goes_away_breaks_the_writer(pipe: list[int]) -> None:
    box, broken = Outbox(), list[int]()
    writer = PipeWriter(pipe[1], box, lambda: broken.append(1))
    writer.start()
    close(pipe, 0)
    await until(lambda: broken == [1])
    assert box.closed
    assert not await box.flushed()
    writer.stop()


async def test_a_failing_write_breaks_the_writer_once() -> None:
    ours, theirs = socket.socketpair()
    box, broken = Outbox(), list[int]()
    PipeWriter(theirs.fileno(), box, lambda: broken.append(1)).start()
    ours.close()
    box.put(b"a\n")
    box.put(b"b\n")
    await until(lambda: broken == [1])
    assert theirs.getblocking()
    theirs.close()


async def test_a_reader_that_goes_away_while_the_pipe_is_full(pipe: list[int]) -> None:
    box, broken = Outbox(), list[int]()
    PipeWriter(pipe[1], box, lambda: broken.append(1)).start()
    box.put(b"x" * 1_000_000 + b"\n")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    close(pipe, 0)
    await until(lambda: broken == [1])


async def test_an_outbox_beyond_its_limit_breaks_the_writer(pipe: list[int]) -> None:
    box, broken = Outbox(limit=300_000), list[int]()
    PipeWriter(pipe[1], box, lambda: broken.append(1)).start()
    for _ in range(10):
        box.put(b"x" * 100_000 + b"\n")
        await asyncio.sleep(0)
    await until(lambda: broken == [1])


async def test_finish_is_bounded(pipe: list[int]) -> None:
    box = Outbox()
    writer = PipeWriter(pipe[1], box, lambda: None)
    writer.start()
    box.put(b"x" * 1_000_000 + b"\n")
    assert not await writer.finish(0.01)
    assert os.get_blocking(pipe[1])


async def test_writes_a_regular_file(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    box = Outbox()
    writer = PipeWriter(fd, box, lambda: None)
    writer.start()
    for n in range(40):
        box.put(b"%02d" % n + b"x" * 65536 + b"\n")
    assert await writer.finish(10)
    os.close(fd)
    assert (tmp_path / "out").read_bytes() == b"".join(b"%02d" % n + b"x" * 65536 + b"\n" for n in range(40))


async def test_a_pipe_opened_both_ways_is_not_taken_for_broken(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    fd = os.open(tmp_path / "fifo", os.O_RDWR)
    box, broken = Outbox(), list[int]()
    writer = PipeWriter(fd, box, lambda: broken.append(1))
    writer.start()
    box.put(b"a\n")
    assert await box.flushed()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert broken == []
    writer.stop()
    os.close(fd)
