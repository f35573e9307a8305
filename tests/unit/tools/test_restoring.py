from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.base.errors import ServerError
from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Fence
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.replacing import digest_of
from acp_server.sandbox.roots import Roots
from acp_server.session.file_changes import FileState
from acp_server.session.file_undo import Step
from acp_server.tools.restoring import ELSEWHERE, UNSAVED, Found, look, put
from tests.support.fake_editor import FakeEditor
from tests.support.file_rig import FileRig

NONE = FileState(None)


def held(data: bytes, mode: int | None = None) -> FileState:
    return FileState(digest_of(data), len(data), mode=mode)


class Place:
    """A project behind a fence that lets `allowed` pass."""

    def __init__(self, root: Path) -> None:
        self.project = root.resolve() / "project"
        self.project.mkdir()
        self.host = Host(str(root / "home"), "user", str(root / "state"), (str(root / "state"),))
        self.roots = Roots((str(self.project),))

    def fence(self, *allowed: str) -> Fence:
        policy = Policy("workspace-write", str(self.project), allowed_paths=allowed)
        return Fence(self.roots, policy, self.host)

    def path(self, name: str) -> str:
        return str(self.project / name)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.roots.close()


async def test_a_file_is_found_with_its_mode_and_so_is_none(place: Place) -> None:
    write(place.path("a"), b"one", 0o4750)
    assert await look(place.fence(), None, place.path("a")) == Found(held(b"one", 0o750), b"one")
    assert await look(place.fence(), None, place.path("b")) == Found(NONE)


@pytest.mark.parametrize("where", ["a link in its place", "a link on the way"])
async def test_a_path_that_leads_elsewhere_is_not_touched(place: Place, where: str) -> None:
    write(place.path("target/a"), b"one")
    name = "a" if where == "a link in its place" else "way/a"
    link(place.path(name.removesuffix("/a")), place.path("target/a" if name == "a" else "target"))
    assert await look(place.fence(), None, place.path(name)) == Found(NONE, problem=ELSEWHERE)


async def test_what_no_tool_may_write_is_a_problem_until_it_is_shown(place: Place) -> None:
    outside = str(place.project.parent / "outside")
    write(outside, b"x")
    assert (await look(place.fence(), None, outside)).problem is not None
    assert await look(place.fence(outside), None, outside) == Found(held(b"x", 0o644), b"x")


async def test_files_are_put_back_made_again_and_deleted(place: Place) -> None:
    path = place.path("new/a")
    await put(place.fence(), Step(path, NONE, held(b"one", 0o600)), b"one")
    assert contents(path) == (b"one", 0o600)
    await put(place.fence(), Step(path, held(b"one"), held(b"two", 0o644)), b"two")
    assert contents(path) == (b"two", 0o600)
    await put(place.fence(), Step(path, held(b"two"), NONE), None)
    assert contents(path) is None


@pytest.mark.parametrize(
    ("now", "to"), [(held(b"one"), held(b"two")), (held(b"one"), NONE), (NONE, held(b"two", 0o600))]
)
async def test_what_changed_meanwhile_stays(place: Place, now: FileState, to: FileState) -> None:
    write(place.path("a"), b"mine")
    with pytest.raises(ServerError) as caught:
        await put(place.fence(), Step(place.path("a"), now, to), None if to is NONE else b"two")
    assert caught.value.code == "FILE_CHANGED"
    assert contents(place.path("a")) == (b"mine", 0o644)


async def test_a_text_that_is_not_saved_is_a_problem(rig: FileRig) -> None:
    path = str(rig.project / "a.txt")
    write(path, b"one\n")
    client = rig.context.client
    roots = Roots((str(rig.project),))
    fence = Fence(roots, rig.context.policy, rig.host)
    files = rig.access(rig.context).files
    assert (await look(fence, files, path)).problem is None
    if isinstance(client, FakeEditor):
        client.buffers[path] = "typed\n"
        assert (await look(fence, files, path)).problem == UNSAVED
    roots.close()


def write(path: str, data: bytes, mode: int = 0o644) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_bytes(data)
    Path(path).chmod(mode)


def link(path: str, target: str) -> None:
    Path(path).symlink_to(target)


def contents(path: str) -> tuple[bytes, int] | None:
    found = Path(path)
    return (found.read_bytes(), found.stat().st_mode & 0o777) if found.exists() else None
