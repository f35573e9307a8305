"""How deleted sessions go for good (docs/log-format.md, N-7 and N-8)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from acp_server.persistence.opening import Store
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.trash import CLAIMED, Emptied, empty_trash
from tests.support.logs import user_message
from tests.support.stores import SESSION, new_header, store


def deleted(where: Store, moment: int) -> Path:
    """Store a session and delete it; return its place in the trash, as if that had been at that moment."""
    files = where.fresh(new_header())
    files.commit([user_message(0, "kept")])
    files.put_attachment(b"beside it")
    files.release()
    where.delete(SESSION)
    (place,) = [path for path in Path(where.root, ".trash").iterdir() if not aged(path)]
    os.utime(place / "session.lock", ns=(moment, moment))
    return place


def aged(place: Path) -> bool:
    return (place / "session.lock").stat().st_mtime_ns < 10**15


def test_what_was_deleted_before_the_moment_goes_whole(tmp_path: Path) -> None:
    where = store(tmp_path)
    old, young = deleted(where, 100), deleted(where, 200)
    assert where.empty_trash(200) == Emptied(1, 1)
    assert (old.exists(), (young / "attachments").is_dir()) == (False, True)
    assert where.empty_trash(201) == Emptied(1, 0)
    assert where.empty_trash(10**18) == Emptied()


def test_there_may_be_no_trash(tmp_path: Path) -> None:
    assert store(tmp_path).empty_trash(1) == Emptied()


def test_what_a_sweep_that_was_stopped_had_claimed_goes_whatever_its_age(tmp_path: Path) -> None:
    where = store(tmp_path)
    place = deleted(where, 500)
    place.rename(place.with_name(f"{CLAIMED}{place.name}"))
    young = deleted(where, 501)
    assert where.empty_trash(1) == Emptied(0, 1)
    assert list(young.parent.iterdir()) == [young]


def test_no_link_is_followed(tmp_path: Path) -> None:
    where, outside = store(tmp_path / "store"), tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("stays")
    place = deleted(where, 1)
    (place / "link").symlink_to(outside)
    assert where.empty_trash(2) == Emptied(1, 0)
    assert (outside / "theirs").read_text() == "stays"


class TakenBack(PosixIo):
    """Somebody moves the session back between the look at its age and the claim."""

    def __init__(self, back: Path) -> None:
        self._back = back

    def rename(self, source: str, target: str) -> None:
        Path(source).rename(self._back)
        super().rename(source, target)


def test_a_session_that_is_taken_back_meanwhile_stays_whole(tmp_path: Path) -> None:
    where = store(tmp_path)
    place = deleted(where, 1)
    before = sorted(path.name for path in place.rglob("*"))
    back = tmp_path / "back"
    assert empty_trash(TakenBack(back), where.root, 2) == Emptied()
    assert sorted(path.name for path in back.rglob("*")) == before


def test_several_may_empty_it_at_once(tmp_path: Path) -> None:
    where = store(tmp_path)
    for _ in range(12):
        deleted(where, 1)
    found = list[Emptied]()
    threads = [threading.Thread(target=lambda: found.append(where.empty_trash(2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 4
    assert (sum(each.gone for each in found), list(Path(where.root, ".trash").iterdir())) == (12, [])
