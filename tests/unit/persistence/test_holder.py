from __future__ import annotations

from pathlib import Path

import pytest

from acp_server.persistence.holder import holder_of
from acp_server.persistence.lock import Owner, take_lock
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo

ME = Owner(4711, "here", 1_750_000_000_000)


def test_the_holder_is_seen_while_it_holds_and_keeps_its_lock(tmp_path: Path) -> None:
    io = PosixIo()
    assert holder_of(str(tmp_path)) is None
    handle = take_lock(io, str(tmp_path), ME)
    assert [holder_of(str(tmp_path)), holder_of(str(tmp_path))] == [ME, ME]
    with pytest.raises(PersistenceError):
        take_lock(io, str(tmp_path), Owner(1, "other", 2))
    io.close(handle)
    assert holder_of(str(tmp_path)) is None
    io.close(take_lock(io, str(tmp_path), ME))


def test_a_holder_that_did_not_say_who_it_is_has_no_name(tmp_path: Path) -> None:
    io = PosixIo()
    handle = take_lock(io, str(tmp_path), ME)
    (tmp_path / "session.lock").write_text("[]", "utf-8")
    assert holder_of(str(tmp_path)) == Owner(0, "", 0)
    io.close(handle)


def test_a_lock_without_a_name_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "session.lock").touch()
    assert holder_of(str(tmp_path)) is None
