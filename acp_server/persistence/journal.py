"""Writing one log file (docs/log-format.md, clauses W-1 to W-8). Blocking; one caller at a time.

Owns the order of calls that makes a batch durable and the state of the file after each failure: put back and usable,
or never to be written again by this process. Refuses to know what a batch means.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Final

from acp_server.persistence.batches import encode_batch
from acp_server.persistence.disk_errors import disk_error, poisoned
from acp_server.persistence.io_port import LogIo, write_all
from acp_server.persistence.paths import LogPlace
from acp_server.persistence.port import PersistenceError

TEMPORARY: Final = "session.tmp"
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def make_root(io: LogIo, root: str) -> None:
    """Make a directory and what is missing above it, durably; raises OSError."""
    above = root.rpartition("/")[0] or "/"
    try:
        made = io.make_dir(root)
    except FileNotFoundError:
        make_root(io, above)
        made = io.make_dir(root)
    try:
        io.sync_dir(above)
    except OSError:
        if made:
            raise


class Journal:
    """One log file that is written to. `length` is how many of its bytes are durable; 0 before the first batch.

    `take_lock` is called once, when the first batch of a session that is not on disk has made its directory.
    """

    def __init__(self, io: LogIo, place: LogPlace, header_line: bytes, take_lock: Callable[[], None]) -> None:
        self.place = place
        self.length = 0
        self.poison: PersistenceError | None = None
        self._io = io
        self._header_line = header_line
        self._take_lock = take_lock
        self._handle: int | None = None
        self._inode = 0

    def resume(self, handle: int, length: int) -> None:
        """Go on with a log whose first `length` bytes are whole and durable, and which has no more."""
        self._handle, self.length = handle, length
        self._inode = self._io.handle_facts(handle).inode

    def commit(self, lines: bytes) -> None:
        """Make one batch durable: when this returns, no crash takes it away.

        Raises:
            PersistenceError: DISK_FULL, DISK_FAILED or SESSION_READ_ONLY after which the file is as it was;
                DISK_POISONED after which it is never written again; SESSION_ALREADY_EXISTS; a code of the lock.
        """
        self.require_writable()
        if self._handle is None:
            self.create([lines])
        else:
            self._append(self._handle, encode_batch(self.place.encoding, lines))

    def require_writable(self) -> None:
        """Raise what `commit` would raise before it writes: what lies beside a log is written only with the log."""
        if self.poison is not None:
            raise self.poison
        if self._handle is not None:
            self._require_untouched()

    def close(self) -> None:
        """Give the file back; nothing is written afterwards."""
        if self._handle is not None:
            self._io.close(self._handle)
            self._handle = None
        self.poison = self.poison or poisoned(self.place.path, "The session is closed")

    def _append(self, handle: int, batch: bytes) -> None:
        try:
            write_all(self._io, handle, batch, self.length)
        except OSError as error:
            self._put_back(handle)
            raise disk_error(error, self.place.path) from error
        try:
            self._io.sync(handle)
        except OSError as error:
            self._poison_by(error)
            self._cut_unsafe(handle)
            raise self._poisoned() from error
        self.length += len(batch)

    def _require_untouched(self) -> None:
        """Check that the file is the one that was opened and nobody else has written to it."""
        path = self.place.path
        try:
            found = self._io.facts(path)
        except FileNotFoundError:
            self.poison = poisoned(path, "The session's log was removed by another program")
            raise self.poison from None
        except OSError as error:
            raise disk_error(error, path) from error
        if found.inode != self._inode or found.size != self.length:
            self.poison = poisoned(path, "Another program has changed the session's log")
            raise self.poison

    def _put_back(self, handle: int) -> None:
        try:
            self._io.truncate(handle, self.length)
        except OSError as error:
            self._poison_by(error)
            raise self._poisoned() from error

    def _cut_unsafe(self, handle: int) -> None:
        """Cut what a failed sync left in an unknown state, as far as the disk still obeys."""
        try:
            self._io.truncate(handle, self.length)
        except OSError:
            return

    def _poison_by(self, error: OSError) -> None:
        words = error.strerror or "the disk failed"
        self.poison = poisoned(self.place.path, f"The disk did not confirm a write to {self.place.path} ({words})")

    def _poisoned(self) -> PersistenceError:
        return self.poison or poisoned(self.place.path, "The session cannot be written")

    def make_directory(self) -> None:
        """Make the session's directory durably and take its lock; raises OSError and a code of the lock."""
        self._make_directories()
        self._take_lock()

    def create(self, batches_of_lines: Sequence[bytes]) -> None:
        """Make the log with its header and these batches, all of it visible at once; raises as `commit`."""
        place, io = self.place, self._io
        temporary = f"{place.directory}/{TEMPORARY}"
        parts = [self._header_line, *batches_of_lines]
        batches = b"".join(encode_batch(place.encoding, lines) for lines in parts)
        try:
            self.make_directory()
            handle = self._write_temporary(temporary, batches)
        except OSError as error:
            raise disk_error(error, place.directory) from error
        try:
            self._publish(temporary)
        except (OSError, PersistenceError) as error:
            io.close(handle)
            self._forget(temporary)
            raise disk_error(error, place.path) if isinstance(error, OSError) else error from error
        self._forget(temporary)
        self.resume(handle, len(batches))
        try:
            io.sync_dir(place.directory)
        except OSError as error:
            self._poison_by(error)
            raise self._poisoned() from error

    def _make_directories(self) -> None:
        place, io = self.place, self._io
        make_root(io, place.root)
        project = f"{place.root}/{place.project}"
        for above, path in ((place.root, project), (project, place.directory)):
            io.make_dir(path)
            io.sync_dir(above)

    def _write_temporary(self, path: str, batches: bytes) -> int:
        self._forget(path)
        handle = self._io.open(path, "create")
        try:
            write_all(self._io, handle, batches, 0)
            self._io.sync(handle)
        except OSError:
            self._io.close(handle)
            self._forget(path)
            raise
        return handle

    def _publish(self, temporary: str) -> None:
        path, io = self.place.path, self._io
        try:
            io.link(temporary, path)
        except FileExistsError:
            raise PersistenceError("SESSION_ALREADY_EXISTS", "A session of this id is stored already.") from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._rename_instead(temporary)

    def _rename_instead(self, temporary: str) -> None:
        """Do without links: the lock keeps every other server away between the look and the move."""
        try:
            self._io.facts(self.place.path)
        except FileNotFoundError:
            self._io.rename(temporary, self.place.path)
            return
        raise PersistenceError("SESSION_ALREADY_EXISTS", "A session of this id is stored already.")

    def _forget(self, temporary: str) -> None:
        try:
            self._io.unlink(temporary)
        except OSError:
            return
