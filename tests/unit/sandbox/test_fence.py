from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.base.errors import ServerError
from acp_server.sandbox import openat
from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Entry, Fence, FileFacts
from acp_server.sandbox.leftovers import TEMPORARY_MARK, Leftovers
from acp_server.sandbox.policy import Level, Policy
from acp_server.sandbox.refusals import Denied
from acp_server.sandbox.replacing import Version, digest_of
from acp_server.sandbox.roots import Roots

EMPTY = digest_of(b"")


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds where the kernel walks and where we do."""
    if request.param == "walk":
        monkeypatch.setattr(openat, "has_openat2", lambda: False)
    return str(request.param)


class Fences:
    def __init__(self, workspace: Path, host: Host) -> None:
        self.roots = Roots((str(workspace),))
        self.workspace = workspace
        self.host = host
        self.leftovers = Leftovers(f"{host.state}/leftovers")

    def make(self, level: Level = "workspace-write", allowed: tuple[str, ...] = ()) -> Fence:
        policy = Policy(level, str(self.workspace), allowed_paths=allowed)
        return Fence(self.roots, policy, self.host, self.leftovers)


@pytest.fixture
def fences(workspace: Path, host: Host, way: str) -> Iterator[Fences]:
    made = Fences(workspace, host)
    yield made
    made.roots.close()


@pytest.fixture
def fence(fences: Fences) -> Fence:
    return fences.make()


def code(raised: pytest.ExceptionInfo[ServerError]) -> str:
    return raised.value.code


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_read_with_its_version(fence: Fence, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_bytes(b"hello")
    facts = file.stat()
    got = fence.read(str(file), 100)
    assert (got.path, got.data, got.size, got.mode) == (str(file), b"hello", 5, stat.S_IMODE(facts.st_mode))
    assert got.version == Version(facts.st_mtime_ns, 5, facts.st_ino, digest_of(b"hello"))


def test_a_part_of_a_file_has_no_hash(fence: Fence, workspace: Path) -> None:
    (workspace / "a").write_bytes(b"0123456789")
    got = fence.read(f"{workspace}/a", 4)
    assert (got.data, got.size, got.version.digest) == (b"0123", 10, None)


@pytest.mark.parametrize("spelling", ["a/../f", "./f", "a//../f", "link", "a/up", "absolute"])
def test_ways_that_stay_inside_lead_to_the_file(fence: Fence, workspace: Path, spelling: str) -> None:
    (workspace / "a").mkdir()
    (workspace / "f").write_bytes(b"x")
    (workspace / "link").symlink_to("f")
    (workspace / "a/up").symlink_to("../f")
    (workspace / "absolute").symlink_to(workspace / "f")
    assert fence.read(f"{workspace}/{spelling}", 10).path == f"{workspace}/f"


@pytest.mark.parametrize("spelling", ["../out/f", "link", "a/link", "dir/f", "/etc/passwd", "roundabout/../../out/f"])
@pytest.mark.parametrize("access", ["read", "write"])
def test_ways_that_leave_are_refused(fence: Fence, workspace: Path, spelling: str, access: str) -> None:
    outside = workspace.parent / "out"
    outside.mkdir()
    (outside / "f").write_bytes(b"seed")
    (workspace / "a").mkdir()
    (workspace / "link").symlink_to(outside / "f")
    (workspace / "a/link").symlink_to("../../out/f")
    (workspace / "dir").symlink_to(outside)
    path = spelling if spelling.startswith("/") else f"{workspace}/{spelling}"
    with pytest.raises(Denied) as refused:
        fence.read(path, 10) if access == "read" else fence.write_atomic(path, b"owned")
    found = os.path.realpath(path)
    assert refused.value.marker == f"[sandbox: {access} denied under workspace-write: {found}]"
    assert refused.value.message == (
        f"{refused.value.marker} Only the person's approval of {access} access to {found} for this call would help; "
        "trying again without it is pointless."
    )
    assert ((outside / "f").read_bytes(), names(outside)) == (b"seed", ["f"])


def test_an_allowed_path_outside_is_touched(fences: Fences, place: Path) -> None:
    file = place / "other"
    file.write_bytes(b"old")
    fence = fences.make(allowed=(str(file),))
    assert fence.read(str(file), 10).data == b"old"
    fence.write_atomic(str(file), b"new")
    assert file.read_bytes() == b"new"
    with pytest.raises(Denied):
        fence.read(f"{place}/state", 1)


def test_full_access_has_no_fence(fences: Fences, place: Path, host: Host) -> None:
    fences.make("full-access").write_atomic(f"{host.home}/.ssh/config", b"x")
    assert Path(host.home, ".ssh/config").read_bytes() == b"x"


def test_read_only_reads_and_does_not_write(fences: Fences, workspace: Path) -> None:
    (workspace / "f").write_bytes(b"x")
    fence = fences.make("read-only")
    assert fence.read(f"{workspace}/f", 1).data == b"x"
    with pytest.raises(Denied) as refused:
        fence.write_atomic(f"{workspace}/f", b"y")
    assert refused.value.marker == f"[sandbox: write denied under read-only: {workspace}/f]"


def test_a_workspace_that_is_no_project_is_read_only(host: Host, way: str) -> None:
    roots = Roots((host.home,))
    fence = Fence(roots, Policy("workspace-write", host.home), host)
    with pytest.raises(Denied) as refused:
        fence.write_atomic(f"{host.home}/x", b"")
    assert refused.value.marker == f"[sandbox: write denied under read-only: {host.home}/x]"
    roots.close()


@pytest.mark.parametrize("name", [".env", "a/server.key", ".env.local"])
def test_a_secret_needs_the_persons_word(fences: Fences, workspace: Path, name: str) -> None:
    path = workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"s")
    with pytest.raises(Denied) as refused:
        fences.make().read(str(path), 1)
    assert refused.value.refusal.reason == "secret"
    assert fences.make(allowed=(str(path),)).read(str(path), 1).data == b"s"


@pytest.mark.parametrize(
    "name", [".git/hooks/pre-commit", ".vscode/settings.json", ".envrc", "sub/.git/config", ".git"]
)
def test_a_protected_name_needs_the_persons_word(fences: Fences, workspace: Path, name: str) -> None:
    path = str(workspace / name)
    with pytest.raises(Denied) as refused:
        fences.make().write_atomic(path, b"x")
    assert refused.value.refusal.reason == "protected"
    fences.make(allowed=(path,)).write_atomic(path, b"x")
    assert Path(path).read_bytes() == b"x"


def test_a_link_to_a_protected_name_is_judged_by_what_it_leads_to(fence: Fence, workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    (workspace / "innocent").symlink_to(".vscode")
    with pytest.raises(Denied):
        fence.write_atomic(f"{workspace}/innocent/tasks.json", b"x")


def test_a_new_file_comes_with_its_directories(fence: Fence, workspace: Path) -> None:
    version = fence.write_atomic(f"{workspace}/a/b/c.txt", b"new", expected_version="absent")
    file = workspace / "a/b/c.txt"
    facts = file.stat()
    assert (file.read_bytes(), names(file.parent)) == (b"new", ["c.txt"])
    assert version == Version(facts.st_mtime_ns, 3, facts.st_ino, digest_of(b"new"))


def test_a_replaced_file_keeps_mode_owner_and_attributes(fence: Fence, workspace: Path) -> None:
    file = workspace / "run.sh"
    file.write_bytes(b"old")
    file.chmod(0o751)
    os.setxattr(file, "user.note", b"kept")
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    before = file.stat()
    fence.write_atomic(str(file), b"new")
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert (file.read_bytes(), os.getxattr(file, "user.note"), names(workspace)) == (b"new", b"kept", ["run.sh"])


def test_a_given_mode_counts(fence: Fence, workspace: Path) -> None:
    fence.write_atomic(f"{workspace}/x", b"", mode=0o640)
    assert stat.S_IMODE((workspace / "x").stat().st_mode) == 0o640


def test_a_link_inside_stays_a_link(fence: Fence, workspace: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "real/target").write_bytes(b"1")
    (workspace / "link").symlink_to("real/target")
    fence.write_atomic(f"{workspace}/link", b"2")
    assert (str((workspace / "link").readlink()), (workspace / "real/target").read_bytes()) == ("real/target", b"2")


@pytest.mark.parametrize("change", [b"other", b"longer than it was", None])
def test_a_change_since_the_read_is_noticed(fence: Fence, workspace: Path, change: bytes | None) -> None:
    file = workspace / "f"
    file.write_bytes(b"first")
    seen = fence.read(str(file), 100).version
    file.unlink() if change is None else file.write_bytes(change)
    with pytest.raises(ServerError) as raised:
        fence.write_atomic(str(file), b"mine", expected_version=seen)
    assert code(raised) == "FILE_CHANGED"
    assert names(workspace) == ([] if change is None else ["f"])
    assert change is None or file.read_bytes() == change


def test_a_file_that_was_only_touched_is_the_same(fence: Fence, workspace: Path) -> None:
    file = workspace / "f"
    file.write_bytes(b"first")
    seen = fence.read(str(file), 100).version
    os.utime(file, (1, 1))
    fence.write_atomic(str(file), b"mine", expected_version=seen)
    assert file.read_bytes() == b"mine"


def test_a_file_that_came_into_being_is_not_overwritten(fence: Fence, workspace: Path) -> None:
    (workspace / "f").write_bytes(b"theirs")
    with pytest.raises(ServerError) as raised:
        fence.write_atomic(f"{workspace}/f", b"mine", expected_version="absent")
    assert (code(raised), (workspace / "f").read_bytes()) == ("FILE_CHANGED", b"theirs")


def test_other_names_of_a_file_are_not_written_through(fences: Fences, workspace: Path, place: Path) -> None:
    (place / "out").write_bytes(b"seed")
    os.link(place / "out", workspace / "inside")
    with pytest.raises(Denied) as refused:
        fences.make().write_atomic(f"{workspace}/inside", b"owned")
    assert (refused.value.refusal.reason, (place / "out").read_bytes()) == ("linked", b"seed")
    fences.make(allowed=(f"{workspace}/inside",)).write_atomic(f"{workspace}/inside", b"mine")
    assert ((workspace / "inside").read_bytes(), (place / "out").read_bytes()) == (b"mine", b"seed")


def test_special_files_are_told_at_once(fence: Fence, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "dir").mkdir()
    (workspace / "loop").symlink_to("loop")
    (workspace / "gone").symlink_to("nowhere")
    told = {}
    for name in ("pipe", "dir", "loop", "gone", "missing", "pipe/x", "dir/../pipe"):
        with pytest.raises(ServerError) as raised:
            fence.read(f"{workspace}/{name}", 10)
        told[name] = code(raised)
    assert told == {
        "pipe": "NOT_A_FILE",
        "dir": "NOT_A_FILE",
        "loop": "LINK_LOOP",
        "gone": "FILE_NOT_FOUND",
        "missing": "FILE_NOT_FOUND",
        "pipe/x": told["pipe/x"],
        "dir/../pipe": "NOT_A_FILE",
    }
    assert told["pipe/x"] in ("NOT_A_DIRECTORY", "LINK_LOOP")
    for name in ("pipe", "dir"):
        with pytest.raises(ServerError) as raised:
            fence.write_atomic(f"{workspace}/{name}", b"")
        assert code(raised) == "NOT_A_FILE"


@pytest.mark.parametrize("path", ["relative", "", "/with\0null", "/" + "x" * 5000, "/lone\ud800"])
def test_what_is_no_path_is_told(fence: Fence, path: str) -> None:
    with pytest.raises(ServerError) as raised:
        fence.read(path, 1)
    assert code(raised) in ("INVALID_PATH", "SANDBOX_DENIED")


def test_facts_of_a_path(fence: Fence, workspace: Path) -> None:
    (workspace / "f").write_bytes(b"123")
    (workspace / "link").symlink_to("f")
    facts = (workspace / "f").stat()
    expected = FileFacts(f"{workspace}/f", "file", 3, stat.S_IMODE(facts.st_mode), facts.st_mtime_ns)
    assert [fence.stat(f"{workspace}/{name}") for name in ("f", "link", "none")] == [expected, expected, None]


def test_a_directory_is_listed_and_walked_without_following_links(fence: Fence, workspace: Path) -> None:
    for folder in ("b", "a/deep", ".hidden"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "a/f.txt").write_bytes(b"text")
    (workspace / "a/.env").write_bytes(b"secret")
    (workspace / "a/up").symlink_to("..")
    os.mkfifo(workspace / "a/pipe")
    assert fence.listdir(f"{workspace}/a") == (
        Entry(".env", "file"),
        Entry("deep", "directory"),
        Entry("f.txt", "file"),
        Entry("pipe", "other"),
        Entry("up", "link"),
    )
    read = {}
    for at in fence.walk(str(workspace), hidden=False):
        read[at.path[len(str(workspace)) :]] = {entry.name: at.read(entry.name, 2) for entry in at.entries}
    assert read == {
        "": {".hidden": None, "a": None, "b": None},
        "/a": {".env": None, "deep": None, "f.txt": b"te", "pipe": None, "up": None},
        "/a/deep": {},
        "/b": {},
    }


def test_a_file_is_removed(fence: Fence, workspace: Path) -> None:
    (workspace / "f").write_bytes(b"x")
    seen = fence.read(f"{workspace}/f", 10).version
    fence.remove(f"{workspace}/f", expected_version=seen)
    with pytest.raises(ServerError) as raised:
        fence.remove(f"{workspace}/f")
    assert (names(workspace), code(raised)) == ([], "FILE_NOT_FOUND")


def test_a_failed_write_leaves_no_half_file(fence: Fence, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "f").write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ServerError) as raised:
        fence.write_atomic(f"{workspace}/f", b"new")
    assert (code(raised), (workspace / "f").read_bytes(), names(workspace)) == ("DISK_FULL", b"old", ["f"])


def test_a_half_written_file_is_swept(fences: Fences, workspace: Path) -> None:
    hold = fences.leftovers.hold(str(workspace))
    path = f"{workspace}/.f{TEMPORARY_MARK}0011"
    hold.note(path)
    Path(path).write_bytes(b"half")
    assert Leftovers(f"{fences.host.state}/leftovers").sweep() == []
    hold.release()
    assert names(workspace) == []


def test_a_root_that_is_no_directory_is_refused(place: Path) -> None:
    with pytest.raises(ServerError) as raised:
        Roots((f"{place}/none",))
    assert code(raised) == "INVALID_ROOT"
