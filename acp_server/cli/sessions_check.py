"""What `sessions verify` finds in one log: the port's report, and where in the file that is.

Owns the patience with a log that is being written to, whose last batch may be half there for a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.cli.sessions_store import SessionFiles
from acp_server.persistence.batches import read_batch
from acp_server.persistence.frames import BadBatch
from acp_server.persistence.header_frame import read_header
from acp_server.persistence.holder import holder_of
from acp_server.persistence.inventory import StoredSession, stored_sessions
from acp_server.persistence.io_port import LogIo, read_all
from acp_server.persistence.paths import LogPlace
from acp_server.persistence.port import PersistenceError, VerifyReport

LOOKS: Final = 5
PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """One log's report. `frame` counts from 0, the header's; `offset` is in bytes; `last_seq` is -1 for none."""

    id: SessionId | None
    file: str
    sound: bool
    events: int = 0
    last_seq: int = -1
    frame: int = 0
    offset: int = 0
    problem: str | None = None


def stored_to_check(files: SessionFiles, given: Sequence[str] | None) -> list[StoredSession]:
    """Return the named sessions, or every log below the root; raises as `SessionFiles.resolve`."""
    if given is None:
        return stored_sessions(files.store.io, files.store.root)
    ids = dict.fromkeys(files.resolve(name) for name in given)
    return [
        stored
        for session_id in ids
        for stored in stored_sessions(files.store.io, files.store.root, session_id)
        if stored.id == session_id
    ]


async def check(files: SessionFiles, stored: StoredSession) -> Finding:
    """Return what reading every byte of a log found. A failure to read it is a finding, not an error."""
    place = stored.place
    try:
        if stored.id is None:
            read_header(files.store.io, place.path, place.encoding)
            return Finding(None, place.path, sound=False, problem="The log lies in a place that no session has.")
        report = await _report(files, stored.id, place)
    except PersistenceError as error:
        return Finding(stored.id, place.path, sound=False, problem=error.message)
    except FileNotFoundError:
        return Finding(stored.id, place.path, sound=False, problem="The log went away meanwhile.")
    frame = 0 if report.sound else frames_before(files.store.io, place, report.offset)
    return Finding(
        stored.id, place.path, report.sound, report.events, report.last_seq, frame, report.offset, report.problem
    )


async def _report(files: SessionFiles, session_id: SessionId, place: LogPlace) -> VerifyReport:
    report = await files.persistence.verify(session_id)
    for _ in range(LOOKS - 1):
        if report.sound or holder_of(place.directory) is None:
            break
        await asyncio.sleep(PAUSE_SECONDS)
        report = await files.persistence.verify(session_id)
    return report


def frames_before(io: LogIo, place: LogPlace, offset: int) -> int:
    """Return how many batches, the header's included, lie before a byte of a log."""
    try:
        data = read_all(io, place.path)[:offset]
    except OSError:
        return 0
    frame = position = 0
    while position < len(data):
        try:
            _, position = read_batch(place.encoding, data, position)
        except BadBatch:
            break
        frame += 1
    return frame
