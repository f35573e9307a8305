from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_server.sandbox.leftovers import TEMPORARY_MARK, Leftovers
from acp_server.sandbox.quarantine import ASIDE, Quarantine


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def journals(place: Path) -> str:
    return str(place / "journals")


def test_mount_points_go_with_their_last_user(workspace: Path, journals: str) -> None:
    leftovers = Leftovers(journals)
    first, second = leftovers.hold(str(workspace)), leftovers.hold(str(workspace))
    folder, file = f"{workspace}/.vscode", f"{workspace}/conf"
    assert first.make({folder: True}) == [folder]
    assert second.make({folder: True, file: False}) == [folder, file]
    first.release()
    first.release()
    assert names(workspace) == [".vscode", "conf"]
    second.release()
    assert names(workspace) == []


def test_what_somebody_has_filled_stays(workspace: Path, journals: str) -> None:
    hold = Leftovers(journals).hold(str(workspace))
    hold.make({f"{workspace}/dir": True, f"{workspace}/file": False, f"{workspace}/link": False})
    (workspace / "dir/settings.json").write_text("theirs")
    (workspace / "file").write_text("theirs")
    (workspace / "link").unlink()
    (workspace / "link").symlink_to("file")
    hold.release()
    assert names(workspace) == ["dir", "file", "link"]


def test_a_folder_that_was_swapped_for_a_link_leads_nowhere(workspace: Path, place: Path, journals: str) -> None:
    (workspace / "sub").mkdir()
    hold = Leftovers(journals).hold(str(workspace))
    hold.make({f"{workspace}/sub/.vscode": True})
    outside = place / "outside"
    (outside / ".vscode").mkdir(parents=True)
    (workspace / "sub").rename(workspace / "moved")
    (workspace / "sub").symlink_to(outside)
    hold.release()
    assert names(outside) == [".vscode"]


def test_a_name_that_this_account_may_not_make_is_told(
    workspace: Path, journals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    Path(journals).mkdir()
    monkeypatch.setattr(os, "mkdir", refuse)
    hold = Leftovers(journals).hold(str(workspace))
    assert hold.make({f"{workspace}/{name}": True for name in ("x", "no/such/place")}) == []
    hold.release()


CRASHING = """
import os, sys
from acp_server.sandbox.leftovers import Leftovers
journals, workspace, mark = sys.argv[1:]
hold = Leftovers(journals).hold(workspace)
hold.make({workspace + "/.vscode": True})
temporary = f"{workspace}/.f{mark}00"
hold.note(temporary)
open(temporary, "w").close()
print("made", flush=True)
if not sys.stdin.read():
    os.kill(os.getpid(), 9)
"""


def test_what_a_crash_left_is_swept_and_what_is_in_use_is_not(workspace: Path, journals: str) -> None:
    argv = [sys.executable, "-c", CRASHING, journals, str(workspace), TEMPORARY_MARK]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"made\n"
        assert Leftovers(journals).sweep() == []
        mine = Leftovers(journals).hold(str(workspace))
        mine.release()
        assert len(names(workspace)) == 2
        other.communicate(b"")
    assert Leftovers(journals).sweep() == [f"{workspace}/.f{TEMPORARY_MARK}00", f"{workspace}/.vscode"]
    assert (names(workspace), Leftovers(journals).sweep()) == ([], [])


def test_there_may_be_nothing_to_sweep(place: Path) -> None:
    assert Leftovers(f"{place}/none").sweep() == []


def tree(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        mode = oct(path.lstat().st_mode)
        found[name] = (mode, str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_text())
    return found


def quarantine(workspace: Path, place: Path) -> Quarantine:
    names = tuple(f"{workspace}/{name}" for name in (".git/config", ".git/hooks", ".vscode", "link", ".git/commondir"))
    return Quarantine(names, (f"{workspace}/.git",), f"{place}/aside")


@pytest.fixture
def repository(workspace: Path) -> Path:
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / ".git/config").write_text("[core]\n")
    (workspace / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (workspace / ".git/hooks/pre-commit").chmod(0o755)
    (workspace / "link").symlink_to(".git/config")
    return workspace


def test_protected_names_that_were_left_alone_are_left_alone(repository: Path, place: Path) -> None:
    kept, before = quarantine(repository, place), tree(repository)
    (repository / "work").write_text("x")
    assert kept.restore() == ()
    (repository / "work").unlink()
    assert (tree(repository), (place / "aside").exists()) == (before, False)


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("echo x >> .git/config", [".git/config"]),
        ("rm .git/config; ln -s /etc/passwd .git/config", [".git/config"]),
        ("echo x > .git/hooks/post-commit; rm .git/hooks/pre-commit", [".git/hooks"]),
        ("chmod 644 .git/hooks/pre-commit", [".git/hooks"]),
        ("mkdir .vscode; echo x > .vscode/tasks.json", [".vscode"]),
        ("rm link; mkdir link", ["link"]),
        ("echo ../evil > .git/commondir", [".git/commondir"]),
        ("rm -r .git/hooks .git/config", [".git/config", ".git/hooks"]),
        ("mv .git .git_old; mkdir -p .git/hooks; echo x > .git/hooks/post-commit", [".git"]),
        ("mv .git other; ln -s /etc .git", [".git"]),
        ("mv .git other", [".git"]),
    ],
)
def test_protected_names_are_put_back(repository: Path, place: Path, script: str, changed: list[str]) -> None:
    kept, before = quarantine(repository, place), tree(repository)
    subprocess.run(["sh", "-c", script], cwd=repository, check=True)
    assert list(kept.restore()) == [f"{repository}/{name}" for name in changed]
    assert tree(repository) == before


def test_what_was_put_there_is_set_aside(repository: Path, place: Path) -> None:
    kept = quarantine(repository, place)
    (repository / ".vscode").mkdir()
    (repository / ".vscode/tasks.json").write_text("evil")
    kept.restore()
    (found,) = (place / "aside").iterdir()
    assert (found.name.startswith(ASIDE), (found / "tasks.json").read_text()) == (True, "evil")


def test_a_file_that_is_too_large_is_reported_only(repository: Path, place: Path) -> None:
    big = repository / ".vscode"
    big.write_bytes(b"x" * (9 << 20))
    kept = quarantine(repository, place)
    assert kept.restore() == ()
    os.utime(big, (1, 1))
    assert (kept.restore(), big.stat().st_size) == ((str(big),), 9 << 20)
