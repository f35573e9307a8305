"""The port of files, kept by the disk alone and by the disk with an editor over it (acp_server/tools/files.py)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.sandbox.policy import Policy
from acp_server.sandbox.replacing import Version, same_version
from acp_server.tools.client_side import NO_CLIENT, ClientSide
from acp_server.tools.files import Files
from acp_server.tools.tool import ToolError
from tests.support.fake_editor import FakeEditor
from tests.support.file_rig import FileRig, make_tree

CLIENTS: dict[str, ClientSide] = {
    "disk": NO_CLIENT,
    "editor": FakeEditor(),
    "editor that answers nothing for what is not there": FakeEditor(missing=""),
    "editor that only reads": FakeEditor(writes=False),
}


@pytest.fixture(params=list(CLIENTS))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileRig]:
    made = FileRig(tmp_path)
    made.context.client = CLIENTS[request.param]
    yield made
    made.close()


def files(rig: FileRig) -> Files:
    return rig.access(rig.context).files


async def code(rig: FileRig, method: str, path: str, *args: object, **kwargs: object) -> str:
    with pytest.raises(ToolError) as caught:
        await getattr(files(rig), method)(path, *args, **kwargs)
    return caught.value.code


async def test_bytes_are_given_as_they_are_with_a_version(rig: FileRig) -> None:
    contents = [
        b"",
        b"a\n",
        b"a\r\nb\r\n",
        b"\xef\xbb\xbfa",
        b"\xff\xfea\0",
        b"caf\xe9\n",
        b"\0\1\2",
        b"a\rb\r",
        b"\n\n",
    ]
    for number, data in enumerate(contents):
        make_tree(rig.project, {str(number): data})
        found = await files(rig).read(str(rig.project / str(number)), 100)
        assert (found.path, found.data, found.size) == (str(rig.project / str(number)), data, len(data))
        assert found.version.digest is not None


async def test_a_part_of_a_file(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "0123456789"})
    path = str(rig.project / "f")
    parts = [await files(rig).read(path, most, start) for most, start in ((4, 0), (4, 4), (4, 8), (4, 20), (0, 0))]
    assert [(part.data, part.size) for part in parts] == [(b, 10) for b in (b"0123", b"4567", b"89", b"", b"")]
    assert [part.version.digest for part in parts] == [None] * 5


async def test_versions_are_of_the_content(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "one\n"})
    path = str(rig.project / "f")
    first = (await files(rig).read(path, 100)).version
    os.utime(path, (1, 1))
    assert same_version((await files(rig).read(path, 100)).version, first)
    make_tree(rig.project, {"f": "two\n"})
    assert not same_version((await files(rig).read(path, 100)).version, first)


async def test_what_cannot_be_read_has_its_code(rig: FileRig, tmp_path: Path) -> None:
    make_tree(rig.project, {"dir/f": "", ".env": "KEY=1"})
    make_tree(tmp_path, {"outside": "x"})
    (rig.project / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(rig.project / "pipe")
    names = ["missing", "dir", "dir/f/g", "pipe", ".env", "out", "../outside"]
    assert [await code(rig, "read", f"{rig.project}/{name}", 10) for name in names] == [
        "NOT_FOUND",
        "IS_DIRECTORY",
        "NOT_A_DIRECTORY",
        "NOT_A_FILE",
        "DENIED",
        "DENIED",
        "DENIED",
    ]
    assert await code(rig, "read", "relative", 10) == "INVALID_PATH"
    assert [await code(rig, "facts", f"{rig.project}/{name}") for name in ("missing", ".env")] == [
        "NOT_FOUND",
        "DENIED",
    ]


async def test_facts_and_names(rig: FileRig) -> None:
    make_tree(rig.project, {"b": "12", "a/x": ""})
    facts = await files(rig).facts(str(rig.project / "b"))
    assert (facts.path, facts.kind, facts.size) == (str(rig.project / "b"), "file", 2)
    assert (await files(rig).facts(str(rig.project / "a"))).kind == "directory"
    listing = await files(rig).list_dir(str(rig.project), 10)
    assert [(entry.name, entry.kind) for entry in listing.entries] == [("a", "directory"), ("b", "file")]
    assert sorted(found.path for found in files(rig).walk(str(rig.project), ignored=False)) == ["a/x", "b"]
    assert (files(rig).readable(str(rig.project / "b")), files(rig).readable(str(rig.project / ".env"))) == (
        True,
        False,
    )


async def test_a_new_file_is_made_with_its_directories(rig: FileRig) -> None:
    path = str(rig.project / "a/b/f")
    version = await files(rig).write(path, b"one\n", expected=None)
    written = (rig.project / "a/b/f").read_bytes()
    assert (written, same_version((await files(rig).read(path, 9)).version, version)) == (
        b"one\n",
        True,
    )
    assert await code(rig, "write", path, b"two\n", expected=None) == "FILE_EXISTS"


async def test_a_file_is_replaced_while_it_is_what_it_was(rig: FileRig) -> None:
    make_tree(rig.project, {"f": b"one\r\n"})
    path = rig.project / "f"
    path.chmod(0o640)
    (rig.project / "link").symlink_to("f")
    version = (await files(rig).read(str(path), 9)).version
    version = await files(rig).write(str(rig.project / "link"), b"two\r\n", expected=version)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two\r\n", 0o640)
    assert (rig.project / "link").is_symlink()
    make_tree(rig.project, {"f": "somebody else's\n"})
    assert await code(rig, "write", str(path), b"three\n", expected=version) == "STALE_FILE"
    assert path.read_bytes() == b"somebody else's\n"
    path.unlink()
    assert await code(rig, "write", str(path), b"three\n", expected=version) in ("STALE_FILE", "NOT_FOUND")


async def test_the_fence_is_asked_before_anything_is_written(rig: FileRig, tmp_path: Path) -> None:
    make_tree(rig.project, {"f": "one\n"})
    path = str(rig.project / "f")
    version = (await files(rig).read(path, 9)).version
    (rig.project / "twin").hardlink_to(rig.project / "f")
    assert await code(rig, "write", path, b"two\n", expected=version) == "DENIED"
    for name in (".git/config", ".env", "../outside"):
        assert await code(rig, "write", f"{rig.project}/{name}", b"x", expected=None) == "DENIED"
        assert await code(rig, "check_write", f"{rig.project}/{name}") == "DENIED"
    rig.context.policy = Policy("read-only", str(rig.project))
    assert await code(rig, "write", path, b"two\n", expected=version) == "DENIED"
    assert ((rig.project / "f").read_bytes(), (tmp_path / "outside").exists()) == (b"one\n", False)


async def test_a_file_that_is_gone_is_not_replaced(rig: FileRig) -> None:
    gone = Version(1, 1, 1, "0" * 32)
    assert await code(rig, "write", str(rig.project / "f"), b"x", expected=gone) in ("STALE_FILE", "NOT_FOUND")
    assert not (rig.project / "f").exists()
