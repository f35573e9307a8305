"""What the ends of a long log tell, and how much of it is read for that."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from acp_server.persistence import learning, two_ends
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.summary import Summary
from acp_server.persistence.two_ends import look_at_ends
from acp_server.session.events import SessionEvent
from tests.support.logs import event, text_delta
from tests.support.stores import damage, log_file, new_header, store


class Counting(PosixIo):
    """The real disk, which counts the bytes that are read from it."""

    def __init__(self) -> None:
        self.bytes_read = 0

    def read(self, handle: int, size: int, offset: int) -> bytes:
        data = super().read(handle, size, offset)
        self.bytes_read += len(data)
        return data


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_ends, "PIECE", 2_000)
    monkeypatch.setattr(two_ends, "MOST", 32_000)
    monkeypatch.setattr(learning, "LARGEST", 3_000)


class Writer:
    """Writes a log, a batch a call, whose bytes hardly get shorter."""

    def __init__(self, root: Path, encoding: Encoding = "zstd") -> None:
        self.random, self.seq = Random(3), 0
        self.files: HeldSession = store(root, encoding).fresh(new_header())

    def add(self, *events: tuple[str, dict[str, object]]) -> None:
        self._commit([event(self.seq + at, kind, data) for at, (kind, data) in enumerate(events)])

    def title(self, words: str) -> None:
        self.add(("session/title", {"title": words, "messageSeqs": []}))

    def turn(self, number: int) -> None:
        self.add(("turn/start", {"turn": number}))

    def fill(self, size: int) -> None:
        for _ in range(size // 1_000):
            self._commit([text_delta(self.seq + at, self.random.randbytes(200).hex()) for at in range(5)])

    def done(self) -> tuple[Summary | None, int]:
        """Return what the ends of the finished log tell, and how many bytes were read for it."""
        self.files.release()
        io = Counting()
        found = look_at_ends(io, self.files.place)
        return None if found is None else found[1], io.bytes_read

    def _commit(self, events: list[SessionEvent]) -> None:
        self.files.commit(events)
        self.seq += len(events)


@pytest.mark.parametrize("encoding", ["zstd", "none"])
def test_the_ends_tell_title_turns_and_events_whatever_lies_between(tmp_path: Path, encoding: Encoding) -> None:
    writer = Writer(tmp_path, encoding)
    writer.turn(1)
    writer.title("First")
    writer.fill(300_000)
    writer.turn(17)
    found, read = writer.done()
    assert found == Summary("First", 17, writer.seq)
    assert read < 20_000 < log_file(writer.files).stat().st_size


def test_a_title_in_the_end_is_the_later_one(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.turn(1)
    writer.title("First")
    writer.fill(50_000)
    writer.turn(2)
    writer.title("Second")
    assert writer.done()[0] == Summary("Second", 2, writer.seq)


def test_more_is_read_when_the_end_says_too_little_and_not_without_limit(tmp_path: Path) -> None:
    near = Writer(tmp_path / "near")
    near.turn(1)
    near.title("First")
    near.turn(2)
    near.fill(20_000)
    assert near.done()[0] == Summary("First", 2, near.seq)
    far = Writer(tmp_path / "far")
    far.turn(1)
    far.title("First")
    far.fill(200_000)
    found, read = far.done()
    assert found == Summary("First", None, far.seq)
    assert read < 90_000


def test_a_torn_end_tells_what_is_whole(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.turn(1)
    writer.title("First")
    writer.fill(10_000)
    writer.turn(2)
    whole = writer.seq
    writer.fill(1_000)
    damage(log_file(writer.files), lambda log: log.__delitem__(slice(-9, None)))
    assert writer.done()[0] == Summary("First", 2, whole)


def test_ends_without_a_whole_batch_tell_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.turn(1)
    writer.fill(50_000)
    damage(log_file(writer.files), lambda log: log.__setitem__(slice(-40_000, None), bytes(40_000)))
    assert writer.done()[0] is None


async def test_a_list_learns_the_title_of_a_long_log(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.turn(1)
    writer.title("Long ago")
    writer.fill(30_000)
    writer.turn(9)
    writer.files.release()
    persistence = JsonlPersistence(tmp_path)
    (entry,) = (await persistence.list()).entries
    assert (entry.title, entry.events) == (None, None)
    assert persistence._learning is not None
    await persistence._learning
    (entry,) = (await persistence.list()).entries
    assert (entry.title, entry.turns, entry.events) == ("Long ago", 9, writer.seq)
    await persistence.shutdown()
