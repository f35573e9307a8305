"""What a sweep takes away, and what it never does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.opening import Store
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.sweeping import Swept
from tests.support.logs import event, user_message
from tests.support.stores import SESSION, log_file, new_header, store

LONG = "x" * 300_000
IMAGE, OTHER, UNNAMED = b"image", b"other", b"nothing names these"


class Shelf(NamedTuple):
    store: Store
    files: HeldSession

    def beside(self) -> set[str]:
        return {path.name for path in (log_file(self.files).parent / "attachments").iterdir()}


def shelf(root: Path, encoding: Encoding = "zstd") -> Shelf:
    """Return a session with a long text, an image, an id in another place, and bytes that nothing names."""
    where = store(root, encoding)
    files = where.fresh(new_header())
    files.commit([user_message(0, LONG)])
    for content in (IMAGE, OTHER, UNNAMED):
        files.put_attachment(content)
    image = {"type": "image", "attachmentId": attachment_id(IMAGE), "mediaType": "image/png"}
    said = {"id": "m", "role": "user", "content": [image], "source": {"kind": "user"}}
    files.commit([event(1, "user/message", said, surface_op="append")])
    files.commit([event(2, "session/title", {"title": attachment_id(OTHER), "messageSeqs": []})])
    return Shelf(where, files)


KEPT = {attachment_id(content) for content in (LONG.encode(), IMAGE, OTHER)}


@pytest.mark.parametrize("encoding", ["zstd", "none"])
def test_what_no_event_names_goes_and_all_else_stays(tmp_path: Path, encoding: Encoding) -> None:
    where, files = shelf(tmp_path, encoding)
    folder = log_file(files).parent / "attachments"
    (folder / f"{attachment_id(b'half')}.tmp").write_bytes(b"ha")
    (folder / "notes.txt").write_bytes(b"somebody's own")
    files.release()
    assert where.sweep(SESSION) == Swept(2, len(UNNAMED) + 2)
    assert Shelf(where, files).beside() == {*KEPT, "notes.txt"}
    assert where.verify(SESSION).sound
    assert where.sweep(SESSION) == Swept()


def test_an_open_session_is_not_swept(tmp_path: Path) -> None:
    where, files = shelf(tmp_path)
    with pytest.raises(PersistenceError) as caught:
        where.sweep(SESSION)
    assert (caught.value.code, len(Shelf(where, files).beside())) == ("SESSION_BUSY", 4)
    files.release()
    where.sweep(SESSION)
    where.open(SESSION)[0].release()


@pytest.mark.parametrize("taken", [1, 200])
def test_a_log_that_is_not_whole_is_not_swept(tmp_path: Path, taken: int) -> None:
    where, files = shelf(tmp_path)
    files.release()
    log = log_file(files)
    log.write_bytes(log.read_bytes()[:-taken])
    swept = where.sweep(SESSION)
    assert (swept.files, swept.kept) == (0, "its log is not whole, or has a torn end set aside")
    where.open(SESSION)[0].release()
    assert where.sweep(SESSION) == swept, "the torn end that was set aside may name them"
    assert len(Shelf(where, files).beside()) == 4


def test_a_child_keeps_what_its_parent_swept(tmp_path: Path) -> None:
    where, files = shelf(tmp_path)
    files.release()
    where.fork(SESSION, None, new_header("child"), 0)[0].release()
    assert where.sweep(SessionId("child")) == Swept(3, len(IMAGE) + len(OTHER) + len(UNNAMED))
    assert len(Shelf(where, files).beside()) == 4
    assert where.verify(SESSION).sound
    assert where.verify(SessionId("child")).sound


def test_a_session_without_attachments_has_nothing_to_sweep(tmp_path: Path) -> None:
    where = store(tmp_path)
    files = where.fresh(new_header())
    files.commit([user_message(0, "x")])
    files.release()
    assert where.sweep(SESSION) == Swept()
    with pytest.raises(PersistenceError, match="No session"):
        where.sweep(SessionId("nobody"))
