from __future__ import annotations

from acp_server.session.file_changes import FILE_CHANGE, FileChange, FileState, change_data, changes_in, kept_bytes
from acp_server.session.log import MemoryLog
from tests.support.logs import event

OLD, NEW, NONE = FileState("d1", 3, "sha256-1"), FileState("d2", 4), FileState(None)


def test_changes_come_back_as_they_were_recorded() -> None:
    changes = [FileChange(0, "/p/a", OLD, NEW, "c"), FileChange(1, "/p/b", NONE, OLD), FileChange(2, "/p/a", NEW, NONE)]
    data = [change_data(change.path, change.before, change.after, change.call_id) for change in changes]
    assert changes_in([event(n, FILE_CHANGE, fields, ignorable=True) for n, fields in enumerate(data)]) == (*changes,)


def test_what_is_of_another_form_is_passed_over() -> None:
    data = {"path": "/p/a", "before": {"digest": 1, "size": "x"}, "after": {"digest": "d", "size": "x", "kept": 5}}
    events = [event(0, "turn/start", {"turn": 1}), event(1, FILE_CHANGE, {}), event(2, FILE_CHANGE, data)]
    assert changes_in(events) == (FileChange(2, "/p/a", NONE, FileState("d")),)


def test_what_is_kept_counts_once() -> None:
    pairs = [(OLD, NEW), (OLD, NONE), (FileState("d3", 5, "sha256-3"), OLD)]
    events = [event(n, FILE_CHANGE, change_data("/p/a", *pair)) for n, pair in enumerate(pairs)]
    assert kept_bytes(MemoryLog(events)) == {"sha256-1": 3, "sha256-3": 5}
