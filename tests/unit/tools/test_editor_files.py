"""What is unsaved in the editor: seen, changed through the editor, never lost (docs/tools.md, clauses B-1 to B-7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.sandbox.policy import Policy
from acp_server.tools import editor_files
from acp_server.tools.tool import ToolError
from acp_server.tools.unsaved import comparable, unsaved
from tests.support.fake_editor import FakeEditor, fails, fails_late, keeps, lies, reformats
from tests.support.file_rig import FileRig, make_tree


@pytest.fixture
def editor() -> FakeEditor:
    return FakeEditor()


@pytest.fixture
def rig(editor: FakeEditor, tmp_path: Path) -> Iterator[FileRig]:
    made = FileRig(tmp_path)
    made.context.client = editor
    yield made
    made.close()


async def failure(rig: FileRig, name: str, **arguments: object) -> tuple[str, str]:
    with pytest.raises(ToolError) as caught:
        await rig.run(name, **arguments)
    return caught.value.code, caught.value.message


def dirty(rig: FileRig, editor: FakeEditor, text: str, disk: str | bytes = "old\n", name: str = "f") -> Path:
    make_tree(rig.project, {name: disk})
    editor.buffers[str(rig.project / name)] = text
    return rig.project / name


async def test_unsaved_text_is_read_in_place_of_the_disk(rig: FileRig, editor: FakeEditor) -> None:
    dirty(rig, editor, "new\nmore\n")
    assert await rig.text("read", path="f") == "     1\tnew\n     2\tmore"
    assert await rig.text("read", path="f", offset=2, limit=1) == "     2\tmore"
    assert (await failure(rig, "read", path="f", offset=3))[0] == "OFFSET_BEYOND_END"


async def test_an_unsaved_text_is_changed_through_the_editor(rig: FileRig, editor: FakeEditor) -> None:
    path = dirty(rig, editor, "new\nmore\n")
    await rig.run("read", path="f")
    result = await rig.run("edit", path="f", old_string="more", new_string="most")
    assert (path.read_bytes(), editor.written) == (b"new\nmost\n", [(str(path), "new\nmost\n")])
    assert rig.kept == [(str(path), b"new\nmore\n")]
    assert result.card is not None
    assert [(diff.old, diff.new) for diff in result.card.diffs] == [("new\nmore\n", "new\nmost\n")]
    await rig.run("edit", path="f", old_string="most", new_string="least")
    assert (path.read_bytes(), len(editor.written)) == (b"new\nleast\n", 1)  # it was saved, so the disk counts again


@pytest.mark.parametrize("tool", ["edit", "multi_edit", "write"])
async def test_an_editor_that_does_not_save_keeps_what_was_written(rig: FileRig, editor: FakeEditor, tool: str) -> None:
    editor.write = keeps
    path = dirty(rig, editor, "a b\n")
    await rig.run("read", path="f")
    change = {"old_string": "b", "new_string": "c"}
    known: dict[str, dict[str, Any]] = {
        "edit": {**change},
        "multi_edit": {"edits": [change]},
        "write": {"content": "a c\n"},
    }
    await rig.run(tool, path="f", **known[tool])
    assert (path.read_bytes(), editor.buffers[str(path)]) == (b"old\n", "a c\n")
    await rig.run("edit", path="f", old_string="a", new_string="d")
    assert (path.read_bytes(), editor.buffers[str(path)]) == (b"old\n", "d c\n")


async def test_a_buffer_that_is_as_the_disk_is_written_on_the_disk(rig: FileRig, editor: FakeEditor) -> None:
    make_tree(rig.project, {"f": b"\xef\xbb\xbfone\r\ntwo\r\n"})
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="two", new_string="three")
    assert ((rig.project / "f").read_bytes(), editor.written) == (b"\xef\xbb\xbfone\r\nthree\r\n", [])


@pytest.mark.parametrize("write", ["saves", "keeps"])
async def test_line_ends_and_mark_stay_when_the_editor_writes(rig: FileRig, editor: FakeEditor, write: str) -> None:
    if write == "keeps":
        editor.write = keeps
    path = dirty(rig, editor, "one\ntwo!\n", b"one\r\ntwo\r\n")
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="one\ntwo!", new_string="one\ntwo\nthree")
    assert editor.written == [(str(path), "one\ntwo\nthree\n")]
    assert path.read_bytes() == (b"one\r\ntwo\r\nthree\r\n" if write == "saves" else b"one\r\ntwo\r\n")


async def test_unsaved_text_has_to_be_read_before_it_is_changed(rig: FileRig, editor: FakeEditor) -> None:
    make_tree(rig.project, {"f": "old\n"})
    await rig.run("read", path="f")
    path = dirty(rig, editor, "typed\n")
    assert (await failure(rig, "edit", path="f", old_string="typed", new_string="x"))[0] == "STALE_FILE"
    assert (await failure(rig, "write", path="f", content="x"))[0] == "STALE_FILE"
    assert (path.read_bytes(), editor.written, rig.kept) == (b"old\n", [], [])


async def test_typing_goes_on_after_the_read(rig: FileRig, editor: FakeEditor) -> None:
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    editor.buffers[str(path)] = "typed more\n"
    assert (await failure(rig, "edit", path="f", old_string="typed", new_string="x"))[0] == "STALE_FILE"
    assert (editor.buffers, editor.written) == ({str(path): "typed more\n"}, [])


async def test_the_disk_changes_beneath_an_unsaved_text(rig: FileRig, editor: FakeEditor) -> None:
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    path.write_text("somebody else's\n")
    assert (await failure(rig, "edit", path="f", old_string="typed", new_string="x"))[0] == "STALE_FILE"
    assert (path.read_text(), editor.written) == ("somebody else's\n", [])


async def test_an_unsaved_text_is_never_written_past_the_editor(rig: FileRig, editor: FakeEditor) -> None:
    editor.writes = False
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    code, message = await failure(rig, "edit", path="f", old_string="typed", new_string="x")
    assert (code, message.endswith("Ask the person to save it.")) == ("UNSAVED_BUFFER", True)
    assert (path.read_bytes(), editor.buffers) == (b"old\n", {str(path): "typed\n"})


@pytest.mark.parametrize("write", [lies, fails])
async def test_a_write_that_did_not_happen_is_told(rig: FileRig, editor: FakeEditor, write: object) -> None:
    editor.write = write  # type: ignore[assignment]  # one of the ways to write
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    code, message = await failure(rig, "edit", path="f", old_string="typed", new_string="x")
    assert (code, "nothing" in message) == ("UNSAVED_BUFFER", True)
    assert (path.read_bytes(), editor.buffers) == (b"old\n", {str(path): "typed\n"})
    editor.buffers.clear()
    path.write_bytes(b"typed\n")
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="typed", new_string="x")
    assert path.read_bytes() == b"x\n"


async def test_a_write_that_happened_counts_whatever_the_editor_says(rig: FileRig, editor: FakeEditor) -> None:
    editor.write = fails_late
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="typed", new_string="x")
    assert path.read_bytes() == b"x\n"


async def test_what_a_formatter_made_has_to_be_read_again(rig: FileRig, editor: FakeEditor) -> None:
    editor.write = reformats
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="typed", new_string="x")
    assert path.read_bytes() == b"x\n# formatted\n"
    assert (await failure(rig, "edit", path="f", old_string="x", new_string="y"))[0] == "STALE_FILE"
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="x", new_string="y")
    assert path.read_bytes() == b"y\n# formatted\n"


async def test_a_file_that_only_the_editor_has(rig: FileRig, editor: FakeEditor) -> None:
    path = rig.project / "new.py"
    editor.buffers[str(path)] = "typed\n"
    assert (await failure(rig, "write", path="new.py", content="x"))[0] == "UNREAD_FILE"
    assert await rig.text("read", path="new.py") == "     1\ttyped"
    await rig.run("edit", path="new.py", old_string="typed", new_string="x")
    assert (path.read_bytes(), editor.written) == (b"x\n", [(str(path), "x\n")])


@pytest.mark.parametrize("missing", ["", None])
async def test_a_file_that_nobody_has(rig: FileRig, editor: FakeEditor, missing: str | None) -> None:
    editor.missing = missing
    assert (await failure(rig, "read", path="f"))[0] == "NOT_FOUND"
    await rig.run("write", path="f", content="x\n")
    assert ((rig.project / "f").read_bytes(), editor.written) == (b"x\n", [])


async def test_the_editor_is_asked_for_nothing_that_the_fence_denies(
    rig: FileRig, editor: FakeEditor, tmp_path: Path
) -> None:
    make_tree(rig.project, {".env": "KEY=1", "twin": "a\n"})
    make_tree(tmp_path, {"outside": "x"})
    (rig.project / "out").symlink_to(tmp_path / "outside")
    for name in (".env", "out", "../outside", "../missing"):
        assert (await failure(rig, "read", path=name))[0] == "DENIED"
        assert (await failure(rig, "write", path=name, content="y"))[0] == "DENIED"
    assert (editor.asked, editor.written) == ([], [])
    path = dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    (rig.project / "other").hardlink_to(path)
    assert (await failure(rig, "edit", path="f", old_string="typed", new_string="x"))[0] == "DENIED"
    rig.context.policy = Policy("read-only", str(rig.project))
    assert (await failure(rig, "edit", path="f", old_string="typed", new_string="x"))[0] == "DENIED"
    assert (editor.written, rig.kept[1:]) == ([], [])


async def test_binaries_other_encodings_and_large_files_are_read_from_the_disk(
    rig: FileRig, editor: FakeEditor
) -> None:
    large = "a line\n" * (editor_files.LARGEST // 7 + 1)
    make_tree(rig.project, {"bin": b"a\0b", "latin": b"caf\xe9\n", "wide": b"\xff\xfea\0\n\0", "large": large})
    editor.buffers = {str(rig.project / name): "unsaved\n" for name in ("bin", "latin", "wide", "large")}
    assert (await failure(rig, "read", path="bin"))[0] == "NOT_TEXT"
    texts = [await rig.text("read", path=name, limit=1) for name in ("latin", "wide", "large")]
    assert ["unsaved" in text for text in texts] == [False] * 3
    assert editor.asked == []


async def test_an_unsaved_text_beyond_measure_is_refused(
    rig: FileRig, editor: FakeEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_files, "LARGEST_UNSAVED", 10)
    dirty(rig, editor, "eleven bytes")
    assert (await failure(rig, "read", path="f"))[0] == "TOO_LARGE"


async def test_a_cancelled_turn_waits_for_no_editor(rig: FileRig, editor: FakeEditor) -> None:
    dirty(rig, editor, "typed\n")
    await rig.run("read", path="f")
    rig.context.cancel.cancel(BY_USER)
    for name, arguments in (("read", {}), ("edit", {"old_string": "typed", "new_string": "x"})):
        with pytest.raises(Cancelled):
            await rig.run(name, path="f", **arguments)
    assert editor.written == []


@pytest.mark.parametrize(
    ("disk", "text", "expected"),
    [
        (b"a\r\nb\r\n", "a\nb\n", None),
        (b"a\r\nb\r\n", "a\nb", None),
        (b"a\nb", "a\nb\n", None),
        (b"\xef\xbb\xbfa\n", "a\n", None),
        (b"\xef\xbb\xbfa\n", "\ufeffa\n", None),
        (b"a\n", "", None),
        (b"", "", None),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", None),
        (b"a\n", "\ud800", None),
        (b"a\n", "a\ufffd", None),
        ("\ufffd\n".encode(), "a\ufffd", "a\ufffd".encode()),
        (b"", "a", b"a"),
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nc\n", b"a\r\nc\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        (b"a\rb\r", "a\nc\n", b"a\rc\r"),
        (b"a\n", "\u00e9 \U0001f600\n", "\u00e9 \U0001f600\n".encode()),
    ],
)
def test_what_of_a_text_is_unsaved(disk: bytes, text: str, expected: bytes | None) -> None:
    file = comparable(disk)
    assert file is not None
    assert unsaved(file, text) == expected
