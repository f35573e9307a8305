"""How small private files change (docs/credentials.md; docs/tools.md, R-6 and R-9)."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from acp_server.app import private_file as module
from acp_server.app.private_file import alone, remove_file, replace_file
from acp_server.base.errors import ServerError


def test_a_file_is_replaced_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with alone(str(path), "X"):
        replace_file(str(path), "one", "X")
        path.chmod(0o644)
        replace_file(str(path), "two\n", "X")
    assert (path.read_text(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (
        "two\n",
        0o600,
        0o700,
    )
    assert sorted(other.name for other in path.parent.iterdir()) == ["file", "file.lock"]
    for _ in range(2):
        remove_file(str(path), "X")
    assert not path.exists()


def test_changes_of_several_come_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")

    def add() -> None:
        for _ in range(10):
            with alone(str(path), "X"):
                replace_file(str(path), str(int(path.read_text()) + 1), "X")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert path.read_text() == "40"


def test_one_that_is_held_for_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.0)
    path = tmp_path / "file"
    with (tmp_path / "file.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ServerError, match=f"Another process keeps {path} locked") as told, alone(str(path), "BUSY"):
            pytest.fail("it is held")
    assert told.value.code == "BUSY"


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(ServerError, match="cannot be written") as told:
        replace_file(str(path), "x", "FAILED")
    assert (told.value.code, list(tmp_path.iterdir())) == ("FAILED", [path])
    (tmp_path / "plain").write_text("x")
    with pytest.raises(ServerError, match="cannot be used"), alone(f"{tmp_path}/plain/file", "FAILED"):
        pytest.fail("its folder is a file")
