from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.frames import encode_frame
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.raw_batches import encode_raw
from acp_server.persistence.records import encode_events
from acp_server.persistence.torn_tail import Tail, read_tail, salvage_tail
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session
from tests.support.story import Story, events_of, header

ENCODINGS: tuple[Encoding, ...] = ("zstd", "none")
CHILD = header("child")


def noise(number: int) -> list[SessionEvent]:
    """Events that do not compress, so that a frame has several blocks."""
    story = Story()
    for at in range(number):
        story.session.append(f"x/{at}", {"noise": os.urandom(8192).hex()}, ignorable=True)
    return list(events_of(story))


def kept(tail: Tail | None) -> int:
    return 0 if tail is None else len(tail.entries)


def test_the_blocks_before_a_cut_give_their_complete_lines() -> None:
    events = noise(60)
    frame = encode_frame(encode_events(events))
    tail = read_tail("zstd", frame[: len(frame) * 2 // 3])
    assert tail is not None
    assert 0 < len(tail.entries) < len(events)
    assert (tail.seq, tail.whole, list(tail.entries)) == (0, False, events[: len(tail.entries)])


def test_a_missing_checksum_costs_nothing() -> None:
    events = noise(3)
    frame = encode_frame(encode_events(events))
    assert read_tail("zstd", frame[:-4]) == Tail(0, tuple(events), whole=True)
    assert read_tail("zstd", frame[:-1] + bytes([frame[-1] ^ 1])) == Tail(0, tuple(events), whole=True)


def test_a_damaged_block_ends_what_is_kept() -> None:
    events = noise(60)
    frame = bytearray(encode_frame(encode_events(events)))
    middle = len(frame) // 2
    frame[middle : middle + 40_000] = bytes(40_000)
    tail = read_tail("zstd", bytes(frame))
    assert 0 < kept(tail) < len(events)
    assert tail is not None
    assert list(tail.entries) == events[: len(tail.entries)]


def test_raw_lines_are_kept_up_to_the_cut() -> None:
    events = noise(3)
    batch = encode_raw(encode_events(events))
    lines = batch.split(b"\n")
    assert read_tail("none", b"\n".join(lines[:2]) + b"\n" + lines[2][:50]) == Tail(0, tuple(events[:2]), whole=False)


@pytest.mark.parametrize("torn", [b"", b"\x28", b"no frame at all", encode_frame(b"no line"), encode_frame(b"[1]\n")])
def test_bytes_without_a_line_give_nothing(torn: bytes) -> None:
    assert read_tail("zstd", torn) is None
    assert read_tail("none", torn) is None


def test_every_cut_gives_a_true_prefix() -> None:
    events = noise(2)
    for encoding, batch in (("zstd", encode_frame(encode_events(events))), ("none", encode_raw(encode_events(events)))):
        for cut in range(0, len(batch), 97):
            tail = read_tail("none" if encoding == "none" else "zstd", batch[:cut])
            assert tail is None or list(tail.entries) == events[: len(tail.entries)]


@dataclass
class Torn:
    """A stored session whose last batch lost its end."""

    store: Store
    root: Path
    log: Path
    events: list[SessionEvent]
    flushed: int


def cut_end(root: Path) -> Path:
    (log,) = root.rglob("session.jsonl*")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 3)
    return log


async def torn_session(root: Path, encoding: Encoding) -> Torn:
    persistence = JsonlPersistence(root, compression=encoding)
    head = header()
    await persistence.create(head)
    moments = iter(range(1000, 9000))
    session = Session(head, now=lambda: next(moments))
    persistence.attach(session)
    story = Story(session).whole()
    await persistence.flush(session)
    flushed = session.seq
    story.whole("m2", "and more")
    await persistence.close(session.id)
    await persistence.shutdown()
    log = cut_end(root)
    store = Store(PosixIo(), str(root), encoding, Owner(1, "host", 0))
    return Torn(store, root, log, list(events_of(story)), flushed)


async def read(root: Path, session_id: SessionId) -> list[SessionEvent]:
    persistence = JsonlPersistence(root)
    try:
        return [event async for event in persistence.read_from(session_id, 0)]
    finally:
        await persistence.shutdown()


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_the_torn_end_of_a_log_is_kept_in_another_session(tmp_path: Path, encoding: Encoding) -> None:
    torn = await torn_session(tmp_path / "s", encoding)
    before = torn.log.read_bytes()
    report = salvage_tail(torn.store, SessionId("s-1"), CHILD)
    assert (report.id, report.events) == ("child", len(torn.events))
    assert await read(torn.root, SessionId("child")) == torn.events
    assert torn.log.read_bytes() == before


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_torn_end_that_was_set_aside_is_found_again(tmp_path: Path, encoding: Encoding) -> None:
    torn = await torn_session(tmp_path / "s", encoding)
    persistence = JsonlPersistence(torn.root)
    await persistence.prepare(SessionId("s-1"))
    await persistence.shutdown()
    assert len(await read(torn.root, SessionId("s-1"))) == torn.flushed
    salvage_tail(torn.store, SessionId("s-1"), CHILD)
    assert await read(torn.root, SessionId("child")) == torn.events


async def test_a_log_without_a_torn_end_is_refused(tmp_path: Path) -> None:
    torn = await torn_session(tmp_path / "s", "zstd")
    persistence = JsonlPersistence(torn.root)
    await persistence.prepare(SessionId("s-1"))
    await persistence.shutdown()
    torn.log.with_name("session.torn-1").unlink()
    with pytest.raises(PersistenceError) as caught:
        salvage_tail(torn.store, SessionId("s-1"), CHILD)
    assert (caught.value.code, caught.value.message) == ("NO_TORN_END", "The session s-1 has no torn end.")


async def test_a_torn_end_of_another_log_does_not_fit(tmp_path: Path) -> None:
    torn = await torn_session(tmp_path / "s", "none")
    persistence = JsonlPersistence(torn.root)
    await persistence.prepare(SessionId("s-1"))
    await persistence.shutdown()
    line = encode_events([SessionEvent("turn/start", 9999, 1, torn.events[1].data)])
    torn.log.with_name("session.torn-2").write_bytes(line)
    with pytest.raises(PersistenceError) as caught:
        salvage_tail(torn.store, SessionId("s-1"), CHILD)
    assert caught.value.code == "NO_TORN_END"
