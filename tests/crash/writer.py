"""A process that writes a session and says what it was promised, and one that makes such processes quickly.

A line `ROOT BATCHES ROUNDS [CALL K WHAT]` on the maker's stdin forks a writer; its answer is a line of JSON: the exit
status and what the writer said. Several arguments in one line, separated by tabs, run at the same time.

`ACK seq` follows each durable batch, `ERR CODE` a failure. At the K-th call of the kind CALL (`any` counts all) the
disk does WHAT: `kill` ends the process before the call, `torn` half-way through a write; a name of errno fails it once,
with a `+` behind it from then on.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from acp_server.base.ids import SessionId
from acp_server.persistence.io_port import OpenMode
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from tests.support.logs import text_delta, whole_turn

SESSION = SessionId("s-1")
HEADER = SessionHeader(SESSION, 1_750_000_000_000, "/p")


class Doomed(PosixIo):
    """The real disk up to a chosen call."""

    def __init__(self, call: str = "", number: int = 0, what: str = "") -> None:
        self._call, self._left, self._what = call, number, what

    def _reach(self, call: str) -> bool:
        """Count a call; return whether a write has to break off half-way."""
        if self._call not in ("any", call):
            return False
        self._left -= 1
        if self._left and not (self._left < 0 and self._what.endswith("+")):
            return False
        if self._what == "torn":
            return True
        if self._what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = int(getattr(errno, self._what.rstrip("+")))
        raise OSError(number, os.strerror(number))

    def make_dir(self, path: str) -> bool:
        self._reach("make_dir")
        return super().make_dir(path)

    def open(self, path: str, mode: OpenMode) -> int:
        self._reach("open")
        return super().open(path, mode)

    def write(self, handle: int, data: bytes, offset: int) -> int:
        if self._reach("write"):
            super().write(handle, data[: len(data) // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(handle, data, offset)

    def sync(self, handle: int) -> None:
        self._reach("sync")
        super().sync(handle)

    def truncate(self, handle: int, size: int) -> None:
        self._reach("truncate")
        super().truncate(handle, size)

    def link(self, source: str, target: str) -> None:
        self._reach("link")
        super().link(source, target)

    def rename(self, source: str, target: str) -> None:
        self._reach("rename")
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        self._reach("unlink")
        super().unlink(path)

    def sync_dir(self, path: str) -> None:
        self._reach("sync_dir")
        super().sync_dir(path)


def batch(seq: int, number: int) -> list[SessionEvent]:
    """Return the number-th batch: every third a whole turn, the others deltas of different size."""
    if number % 3 == 0:
        return whole_turn(seq, number + 1, 4)
    return [text_delta(seq + at, "words " * (number * 40 + 1)) for at in range(1 + number % 4)]


def expected(number: int) -> list[SessionEvent]:
    events: list[SessionEvent] = []
    for at in range(number):
        events += batch(len(events), at)
    return events


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def write(root: str, batches: int, io: PosixIo) -> None:
    """Begin or open the session, write batches, give it back."""
    store = Store(io, root, "zstd", Owner(os.getpid(), "here", 1))
    try:
        files = store.fresh(HEADER) if not list(Path(root).glob("*/*/session.jsonl*")) else store.open(SESSION)[0]
    except PersistenceError as error:
        say(f"ERR {error.code}")
        return
    say("OPEN")
    seq = files.stored
    for number in range(batches):
        events = batch(seq, number)
        for _ in range(2):
            try:
                files.commit(events)
            except PersistenceError as error:
                say(f"ERR {error.code}")
                continue
            seq = events[-1].seq + 1
            say(f"ACK {seq - 1}")
            break
        else:
            break
    files.release()
    say("DONE")


def start(root: str, batches: str, rounds: str, *doom: str) -> tuple[int, IO[bytes]]:
    """Fork a writer; return its process id and the file that it writes to."""
    said = TemporaryFile()  # noqa: SIM115 - the maker closes it when the writer has ended
    child = os.fork()
    if child:
        return child, said
    os.dup2(said.fileno(), 1)
    try:
        for _ in range(int(rounds)):
            write(root, int(batches), Doomed(doom[0], int(doom[1]), doom[2]) if doom else PosixIo())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def serve() -> None:
    for line in sys.stdin:
        started = [start(*words.split(" ")) for words in line.rstrip("\n").split("\t")]
        answers = []
        for child, said in started:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            answers.append([status, said.read().decode().splitlines()])
            said.close()
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    serve()
