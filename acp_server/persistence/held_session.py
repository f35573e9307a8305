"""One session that this process may write: its lock, its log file, its queue (docs/log-format.md, clauses O and W).

Owns their common life: taken together, given back together. The methods that touch the disk block and run in the
session's worker; `attach` and `detach` belong to the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.attachments import copy_attachments, put_attachments
from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.frames import PAYLOAD_LIMIT
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.journal import Journal
from acp_server.persistence.lock import Owner, take_lock
from acp_server.persistence.long_values import Beside
from acp_server.persistence.paths import ATTACHMENTS_NAME, LOCK_NAME, LogPlace
from acp_server.persistence.port import HealthListener, ObservedSession, PersistenceError
from acp_server.persistence.records import encode_events, encode_header, encode_items
from acp_server.persistence.rows import Item, RunPacker
from acp_server.persistence.scan import BatchSpan
from acp_server.persistence.suffix import keep_index
from acp_server.persistence.summary import SHOWN_TYPES, Summary, add_event
from acp_server.persistence.workers import Workers
from acp_server.persistence.write_queue import QueueLimits, WriteQueue
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader


class HeldSession:
    """What a store keeps of a session between `create`, `prepare` or `fork` and `close`.

    `fresh` is whether it was not on disk before. `stored` counts the events in the file, `summary` covers every event
    known, `read_only` is why none can be added.
    """

    def __init__(self, io: LogIo, place: LogPlace, header: SessionHeader, owner: Owner, *, fresh: bool) -> None:
        self.place = place
        self.header = header
        self.journal = Journal(io, place, encode_header(header), self.lock)
        self.stored = 0
        self.spans: list[BatchSpan] = []
        self._beside: set[str] = set()
        self._writing = Lock()  # a batch and an attachment may come from two threads
        self._shown = Summary()
        self._length = 0
        self.noted: Summary | None = None
        self.read_only: str | None = None
        self.queue: WriteQueue | None = None
        self.session: ObservedSession | None = None
        self._fresh = fresh
        self._io = io
        self._owner = owner
        self._lock: int | None = None
        self._unobserve: Callable[[], None] = _nothing

    @property
    def summary(self) -> Summary:
        """Return what a list shows of every event known."""
        return Summary(self._shown.title, self._shown.turns, self._length)

    @summary.setter
    def summary(self, summary: Summary) -> None:
        self._shown, self._length = summary, summary.events

    def lock(self) -> None:
        """Take the session's lock unless it is held; its directory exists. Raises as `take_lock`."""
        if self._lock is None:
            self._lock = take_lock(self._io, self.place.directory, self._owner)

    def commit(self, events: list[SessionEvent]) -> None:
        """Make one batch of events durable; raises PersistenceError as `Journal.commit`."""
        packer = RunPacker()
        for event in events:
            packer.add(event)
        self.commit_items(packer.items, events[0].seq, events[-1].seq + 1)

    def commit_items(self, items: list[Item], first_seq: int, next_seq: int) -> None:
        """Make a batch durable whose runs are found already; raises as `commit`."""
        if self.read_only is not None:
            raise PersistenceError("SESSION_READ_ONLY", self.read_only)
        beside: Beside = {}
        lines = encode_items(items, beside)
        _require_size(lines, beside)
        with self._writing:
            self._keep_beside(beside)
            start = self.journal.length
            self.journal.commit(lines)
            self.stored = next_seq
            self.spans.append(BatchSpan(start, self.journal.length, first_seq, next_seq))

    def create(self, batches: list[list[SessionEvent]]) -> None:
        """Make the log with all of these batches at once; raises PersistenceError as `Journal.create`."""
        beside: Beside = {}
        lines = [encode_events(batch, beside) for batch in batches]
        self._keep_beside(beside)
        self.journal.create(lines)
        self.stored = batches[-1][-1].seq + 1

    def inherit_attachments(self, source: str) -> None:
        """Take over what lies beside another session's log in `source`; raises OSError and a code of the lock."""
        self.journal.make_directory()
        self._beside.update(copy_attachments(self._io, source, self.place.directory))

    def put_attachment(self, content: bytes) -> str:
        """Keep bytes beside the log, whose directory is made when it is not there; raises as the port's verb."""
        if self.read_only is not None:
            raise PersistenceError("SESSION_READ_ONLY", self.read_only)
        ident = attachment_id(content)
        with self._writing:
            self._keep_beside({ident: content})
        return ident

    def _keep_beside(self, beside: Beside) -> None:
        """Make durable what this process has not put beside the log yet."""
        missing = {ident: content for ident, content in beside.items() if ident not in self._beside}
        if not missing:
            return
        self.journal.require_writable()
        try:
            self.journal.make_directory()
        except OSError as error:
            raise disk_error(error, self.place.directory) from error
        try:
            put_attachments(self._io, self.place.directory, missing)
        except PersistenceError as error:
            if error.code == "DISK_POISONED":
                self.journal.poison = error
            raise
        self._beside.update(missing)

    def attach(
        self, session: ObservedSession, workers: Workers, limits: QueueLimits, on_health: HealthListener | None
    ) -> WriteQueue:
        """Queue what is not stored of a session's events, and each later one."""
        self.queue = WriteQueue(self.header.id, self.commit_items, workers, limits=limits, on_health=on_health)
        self.session = session
        for event in session.events.since(self.stored):
            self._take(event)
        self._unobserve = session.observe(self._take)
        return self.queue

    async def detach(self) -> None:
        """Stop observing, after writing what can be written."""
        self._unobserve()
        self._unobserve = _nothing
        if self.queue is not None:
            await self.queue.close()

    def release(self) -> None:
        """Give file and lock back. Of a session that never had an event nothing stays behind."""
        materialized = self.journal.length > 0
        if materialized and self.spans and self.read_only is None:
            keep_index(self._io, self.place, self.spans)
        self.journal.close()
        if self._lock is None:
            return
        if self._fresh and not materialized:
            self._remove_traces()
        self._io.close(self._lock)
        self._lock = None

    def _take(self, event: SessionEvent) -> None:
        if self.queue is not None:
            self.queue.put(event)
        if event.seq >= self._length:
            self._length = event.seq + 1
            if event.type in SHOWN_TYPES:
                self._shown = add_event(self._shown, event)

    def _remove_traces(self) -> None:
        with suppress(OSError):
            for ident in self._beside:
                self._io.unlink(f"{self.place.directory}/{ATTACHMENTS_NAME}/{ident}")
            if self._beside:
                self._io.remove_dir(f"{self.place.directory}/{ATTACHMENTS_NAME}")
            self._io.unlink(f"{self.place.directory}/{LOCK_NAME}")
            self._io.remove_dir(self.place.directory)


def _require_size(lines: bytes, beside: Beside) -> None:
    size = max(map(len, (lines, *beside.values())))
    if size > PAYLOAD_LIMIT:
        raise PersistenceError("EVENT_TOO_LARGE", f"An event of {size} bytes is larger than a session can keep.")


def _nothing() -> None:
    return None
