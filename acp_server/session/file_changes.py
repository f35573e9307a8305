"""The record of changes that tools made to files: what each file was before, so that it can be that again. Pure.

Owns the event `file/change`. It is in the log before its file is written, so a change without it did not happen; one
that a crash caught in between shows by the file's bytes, which are compared before anything is undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from acp_server.base.json_value import JsonObject
from acp_server.base.values import value
from acp_server.session.events import SessionEvent
from acp_server.session.log import EventLog

FILE_CHANGE: Final = "file/change"
_MODE: Final = 0o777
"""Permission bits that are given back; those that lend an account's rights are not."""


@value
class FileState:
    """What a file held: `digest` is the hash of its bytes, None where there was no file.

    `kept` is the id under which the bytes lie beside the log, None where there were none or they were too many. `mode`
    are its permission bits, None where nobody looked.
    """

    digest: str | None
    size: int = 0
    kept: str | None = None
    mode: int | None = None

    def to_json(self) -> JsonObject | None:
        """Return the state as the log has it."""
        if self.digest is None:
            return None
        kept = {} if self.kept is None else {"kept": self.kept}
        mode = {} if self.mode is None else {"mode": self.mode}
        return {"digest": self.digest, "size": self.size, **kept, **mode}


@value
class FileChange:
    """One change of one file by the call `call_id`, None for one that an undo made."""

    seq: int
    path: str
    before: FileState
    after: FileState
    call_id: str | None = None


def change_data(path: str, before: FileState, after: FileState, call_id: str | None = None) -> JsonObject:
    """Return the data of the event."""
    call = {} if call_id is None else {"callId": call_id}
    return {"path": path, "before": before.to_json(), "after": after.to_json(), **call}


def changes_in(events: Iterable[SessionEvent]) -> tuple[FileChange, ...]:
    """Return the changes that the events record, in order; an event of another form is passed over."""
    found = (_change(event) for event in events if event.type == FILE_CHANGE)
    return tuple(change for change in found if change is not None)


def kept_bytes(log: EventLog) -> dict[str, int]:
    """Return the sizes of everything that is kept for the changes of a log, by id."""
    states = [state for change in changes_in(log.milestones()) for state in (change.before, change.after)]
    return {state.kept: state.size for state in states if state.kept is not None}


def _change(event: SessionEvent) -> FileChange | None:
    path, call_id = event.data.get("path"), event.data.get("callId")
    if not isinstance(path, str):
        return None
    before, after = _state(event.data.get("before")), _state(event.data.get("after"))
    return FileChange(event.seq, path, before, after, call_id if isinstance(call_id, str) else None)


def _state(data: object) -> FileState:
    fields = data if isinstance(data, dict) else {}
    digest, size, kept, mode = (fields.get(key) for key in ("digest", "size", "kept", "mode"))
    if not isinstance(digest, str):
        return FileState(None)
    return FileState(
        digest,
        size if isinstance(size, int) else 0,
        kept if isinstance(kept, str) else None,
        mode if isinstance(mode, int) and 0 <= mode <= _MODE else None,
    )
