"""Writes sessions on the real disk: `python -m tests.crash.straight ROOT ENCODING` says `ACK seq` after each batch.

The same work is done on the disk in memory, so it touches nothing but the port.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import get_args

from acp_server.persistence.batches import Encoding
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.posix_io import PosixIo
from acp_server.session.events import SessionEvent
from tests.crash.campaign import HEADER
from tests.support.logs import text_delta, user_message, whole_turn
from tests.support.stores import new_header

BATCHES = 4


def work(io: LogIo, root: str, encoding: Encoding, acked: Callable[[int], None]) -> list[SessionEvent]:
    """Begin, write, give back, open again, write, keep a long text beside, break off, fork, delete the fork.

    Only one file lies beside, since nothing says in which order a folder is listed.
    """
    store = Store(io, root, encoding, Owner(1, "here", 1))
    files = store.fresh(HEADER)
    events: list[SessionEvent] = []
    for life in range(2):
        for number in range(BATCHES):
            batch = whole_turn(len(events), 1 + life * BATCHES + number, 3 + number)
            files.commit(batch)
            events += batch
            acked(len(events) - 1)
        if life:
            files.commit(batch := [user_message(len(events), "long " * 60_000)])
            events += batch
            acked(len(events) - 1)
            files.commit(batch := [text_delta(len(events), "half an answer")])
            events += batch
            acked(len(events) - 1)
        files.release()
        if not life:
            files, _ = store.open(HEADER.id)
    store.fork(HEADER.id, None, new_header("child"), None)[0].release()
    store.delete(new_header("child").id)
    return events


def main() -> None:
    """Do it, and say so."""
    root, encoding = sys.argv[1:]
    (chosen,) = (one for one in get_args(Encoding) if one == encoding)
    work(PosixIo(), root, chosen, _say)


def _say(seq: int) -> None:
    os.write(1, f"ACK {seq}\n".encode())


if __name__ == "__main__":
    main()
