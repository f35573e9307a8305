"""The tools that write, edit and edit several places: what is refused, kept, shown."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.sandbox.policy import Policy
from acp_server.tools.edit import EditArguments
from acp_server.tools.files import FileChange
from acp_server.tools.multi_edit import MultiEditArguments
from acp_server.tools.tool import Card, Diff, Effect, Location, ToolError
from acp_server.tools.write import WriteArguments
from tests.support.file_rig import FileRig, make_tree


async def failure(rig: FileRig, name: str, **arguments: object) -> tuple[str, str]:
    with pytest.raises(ToolError) as caught:
        await rig.run(name, **arguments)
    return caught.value.code, caught.value.message


async def test_a_new_file_with_its_directories(rig: FileRig) -> None:
    result = await rig.run("write", path="a/b/c.txt", content="one\ntwo\n")
    path = rig.project / "a/b/c.txt"
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    assert result.card == Card(
        "Write a/b/c.txt", "edit", (Location(str(path), 1),), (Diff(str(path), None, "one\ntwo\n"),)
    )
    assert result.raw_output == {"path": str(path), "lines": 2}
    assert rig.kept == [(str(path), None)]
    assert await rig.text("write", path="a/b/c.txt", content="x") == (
        "Replaced the content of a/b/c.txt (1 lines).\n     1\tx"
    )
    assert rig.kept == [(str(path), None), (str(path), b"one\ntwo\n")]


async def test_an_existing_file_has_to_be_read_first(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "old\n"})
    said = ("UNREAD_FILE", "f has not been read in this session; read it before you change it")
    assert await failure(rig, "write", path="f", content="new") == said
    assert await failure(rig, "edit", path="f", old_string="old", new_string="new") == said
    assert await failure(rig, "multi_edit", path="f", edits=[{"old_string": "old", "new_string": "new"}]) == said
    assert ((rig.project / "f").read_bytes(), rig.kept) == (b"old\n", [])


async def test_what_changed_since_it_was_read_is_not_touched(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "old\n"})
    await rig.run("read", path="f")
    make_tree(rig.project, {"f": "old, and more\n"})
    said = ("STALE_FILE", "f was changed since it was read; nothing was written. Read it again, then change it.")
    assert await failure(rig, "edit", path="f", old_string="old", new_string="new") == said
    assert await failure(rig, "write", path="f", content="new") == said
    assert ((rig.project / "f").read_bytes(), rig.kept) == (b"old, and more\n", [])
    await rig.run("read", path="f")
    await rig.run("edit", path="f", old_string="old", new_string="new")
    assert (rig.project / "f").read_bytes() == b"new, and more\n"


async def test_touching_a_file_or_replacing_it_by_its_like_changes_nothing(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "old\n", "g": "old\n"})
    await rig.run("read", path="f")
    os.utime(rig.project / "f", (1, 1))
    (rig.project / "g").replace(rig.project / "f")
    await rig.run("edit", path="f", old_string="old", new_string="new")
    assert (rig.project / "f").read_bytes() == b"new\n"


async def test_a_file_that_is_gone_cannot_be_edited_and_may_be_made_anew(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "old\n"})
    await rig.run("read", path="f")
    (rig.project / "f").unlink()
    assert await failure(rig, "edit", path="f", old_string="old", new_string="n") == ("NOT_FOUND", "f does not exist")
    await rig.run("write", path="f", content="new\n")
    assert (rig.project / "f").read_bytes() == b"new\n"


async def test_a_file_of_a_large_page_is_known_by_its_facts(rig: FileRig) -> None:
    make_tree(rig.project, {"big": "a line\n" * 1_000_000 + "end\n"})
    await rig.run("read", path="big", limit=1)
    await rig.run("edit", path="big", old_string="end", new_string="END")
    assert (rig.project / "big").read_bytes().endswith(b"a line\nEND\n")


async def test_edits_after_edits_need_no_reading(rig: FileRig) -> None:
    await rig.run("write", path="f", content="a b c\n")
    for letter in "abc":
        await rig.run("edit", path="f", old_string=letter, new_string=letter.upper())
    assert (rig.project / "f").read_bytes() == b"A B C\n"


async def test_the_applied_hunks_are_shown(rig: FileRig) -> None:
    make_tree(rig.project, {"f.py": "".join(f"line {n}\n" for n in range(1, 21))})
    await rig.run("read", path="f.py")
    result = await rig.run("edit", path="f.py", old_string="line 10\n", new_string="line ten\nand more\n")
    path = str(rig.project / "f.py")
    before = "".join(f"line {n}\n" for n in range(7, 14))
    after = before.replace("line 10\n", "line ten\nand more\n")
    assert result.card == Card("Edit f.py", "edit", (Location(path, 10),), (Diff(path, before, after),))
    assert result.raw_output == {"path": path, "replaced": 1}
    shown = await rig.text("edit", path="f.py", old_string="line 1\n", new_string="first\n")
    assert shown == "Edited f.py in 1 place:\n     1\tfirst\n     2\tline 2\n     3\tline 3\n     4\tline 4"


async def test_many_places_are_shown_in_short(rig: FileRig) -> None:
    make_tree(rig.project, {"f": ("x\n" + "-\n" * 9) * 100})
    await rig.run("read", path="f")
    result = await rig.run("edit", path="f", old_string="x", new_string="y" * 9000, replace_all=True)
    assert result.card is not None
    assert (len(result.card.diffs), len(result.card.locations)) == (20, 20)
    text = await rig.text("edit", path="f", old_string="y" * 9000, new_string="x", replace_all=True)
    assert text.startswith("Edited f in 100 places:\n     1\tx\n     2\t-\n")
    assert (text.count("\n"), text[-2:]) == (41, "\n…")


async def test_several_edits_are_made_in_order_or_not_at_all(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a b\n"})
    await rig.run("read", path="f")
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    assert await rig.text("multi_edit", path="f", edits=edits) == "Edited f in 3 places by 2 edits:\n     1\tc c"
    assert await failure(rig, "multi_edit", path="f", edits=[*edits[1:], edits[1]]) == (
        "NO_MATCH",
        (
            "edit 1 of 2, and so none was made: the text to replace is not in the file. "
            "Read the place again and copy the text exactly."
        ),
    )
    assert (rig.project / "f").read_bytes() == b"c c\n"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xff\xfea\0\n\0", "b\n", b"\xff\xfeb\0\n\0"),
        (b"caf\xe9\n", "thé\n", b"th\xe9\n"),
        (b"", "a\r\nb\n", b"a\r\nb\n"),
    ],
)
async def test_writing_keeps_encoding_and_line_ends(rig: FileRig, before: bytes, content: str, after: bytes) -> None:
    make_tree(rig.project, {"f": before})
    await rig.run("read", path="f")
    await rig.run("write", path="f", content=content)
    assert (rig.project / "f").read_bytes() == after


async def test_writing_the_same_writes_nothing(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a\r\n"})
    os.utime(rig.project / "f", (1, 1))
    await rig.run("read", path="f")
    assert await rig.text("write", path="f", content="a\n") == "f already holds exactly this; it was not written."
    assert ((rig.project / "f").stat().st_mtime, rig.kept) == (1, [])


async def test_what_the_encoding_lacks_is_refused(rig: FileRig) -> None:
    make_tree(rig.project, {"f": b"caf\xe9\n"})
    await rig.run("read", path="f")
    said = ("UNENCODABLE", "the file is windows-1252, which cannot hold U+0416 ('Ж'); nothing was written")
    assert await failure(rig, "edit", path="f", old_string="caf", new_string="Ж") == said
    assert ((rig.project / "f").read_bytes(), rig.kept) == (b"caf\xe9\n", [])


async def test_binaries_directories_and_links_out_are_refused(rig: FileRig, tmp_path: Path) -> None:
    make_tree(rig.project, {"bin": b"a\0b", "dir/x": ""})
    (rig.project / "out").symlink_to(tmp_path / "elsewhere")
    assert (await failure(rig, "write", path="dir", content=""))[0] == "IS_DIRECTORY"
    assert (await failure(rig, "edit", path="dir", old_string="a", new_string="b"))[0] == "IS_DIRECTORY"
    code, message = await failure(rig, "write", path="out", content="x")
    assert (code, message.startswith("[sandbox: ")) == ("DENIED", True)
    code, message = await failure(rig, "write", path="../elsewhere", content="x")
    assert (code, message.startswith("[sandbox: ")) == ("DENIED", True)
    assert not (tmp_path / "elsewhere").exists()


async def test_reading_level_and_protected_names_are_denied_before_anything_is_kept(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a", ".git/config": "[core]\n"})
    await rig.run("read", path=".git/config")
    code, message = await failure(rig, "edit", path=".git/config", old_string="core", new_string="x")
    assert (code, message.split("]")[0]) == (
        "DENIED",
        f"[sandbox: write denied under workspace-write: {rig.project}/.git/config",
    )
    await rig.run("read", path="f")
    rig.context.policy = Policy("read-only", rig.context.cwd)
    code, message = await failure(rig, "edit", path="f", old_string="a", new_string="b")
    assert (code, message.split("]")[0]) == ("DENIED", f"[sandbox: write denied under read-only: {rig.project}/f")
    assert rig.kept == []


async def test_a_cancelled_turn_changes_nothing(rig: FileRig) -> None:
    rig.context.cancel.cancel(BY_USER)
    for name, arguments in (
        ("write", {"content": "x"}),
        ("edit", {"old_string": "a", "new_string": "b"}),
        ("multi_edit", {"edits": [{"old_string": "a", "new_string": "b"}]}),
    ):
        with pytest.raises(Cancelled):
            await rig.run(name, path="f", **arguments)
    assert not (rig.project / "f").exists()


async def test_what_keeping_raises_stops_the_write(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a"})
    await rig.run("read", path="f")

    async def full(_change: FileChange) -> None:
        raise ToolError("DISK_FULL", "no room to keep it")

    rig.keep = full
    assert await failure(rig, "edit", path="f", old_string="a", new_string="b") == ("DISK_FULL", "no room to keep it")
    assert (rig.project / "f").read_bytes() == b"a"


async def test_a_link_inside_stays_and_counts_as_its_target(rig: FileRig) -> None:
    make_tree(rig.project, {"real/t": "v=1"})
    (rig.project / "link").symlink_to("real/t")
    await rig.run("read", path="link")
    await rig.run("edit", path="real/t", old_string="1", new_string="2")
    await rig.run("edit", path="link", old_string="2", new_string="3")
    assert (str((rig.project / "link").readlink()), (rig.project / "real/t").read_bytes()) == ("real/t", b"v=3")


def test_the_calls_can_be_judged_and_drawn_before_they_run(rig: FileRig) -> None:
    edit, several, write = (rig.tools[name] for name in ("edit", "multi_edit", "write"))
    one = EditArguments(path="x.py", old_string="a", new_string="b")
    two = {"old_string": "a", "new_string": "b"}
    more = MultiEditArguments.model_validate({"path": "x.py", "edits": [two, two]})
    whole = WriteArguments(path="/tmp/x.py", content="c")
    diff, places = Diff("/w/x.py", "a", "b"), (Location("/w/x.py"),)
    assert edit.effect(one, "/w") == several.effect(more, "/w") == Effect("edit", ("/w/x.py",))
    assert write.effect(whole, "/w") == Effect("edit", ("/tmp/x.py",))
    assert edit.card(one, "/w") == Card("Edit x.py", "edit", places, (diff,))
    assert several.card(more, "/w") == Card("Edit x.py (2 edits)", "edit", places, (diff, diff))
    assert write.card(whole, "/w") == Card(
        "Write /tmp/x.py", "edit", (Location("/tmp/x.py"),), (Diff("/tmp/x.py", None, "c"),)
    )
    assert not any((edit.parallel(one), several.parallel(more), write.parallel(whole)))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
