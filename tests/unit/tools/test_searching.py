"""The tools that search and list. Each test runs with ripgrep and with the search of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.tools.glob import GlobArguments
from acp_server.tools.grep import GrepArguments
from acp_server.tools.list_directory import ListArguments
from acp_server.tools.tool import Card, Effect, Location, ToolError
from tests.support.file_rig import FileRig, make_tree
from tests.support.ripgrep import ripgrep


@pytest.fixture(params=["ripgrep", "own"])
def searching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileRig]:
    made = FileRig(tmp_path, ripgrep=ripgrep() if request.param == "ripgrep" else None)
    yield made
    made.close()


async def failure(rig: FileRig, name: str, **arguments: object) -> tuple[str, str]:
    with pytest.raises(ToolError) as caught:
        await rig.run(name, **arguments)
    return caught.value.code, caught.value.message


async def test_lines_come_by_file_with_numbers(searching: FileRig) -> None:
    make_tree(searching.project, {"b.py": "x = 1\ny = 2\nx = 3\n", "a/c.py": "no\r\n x\r\n", "d.txt": "none"})
    result = await searching.run("grep", pattern="x")
    assert await searching.text("grep", pattern="x") == "a/c.py\n2:  x\n\nb.py\n1: x = 1\n3: x = 3"
    places = (Location(str(searching.project / "a/c.py"), 2), Location(str(searching.project / "b.py"), 1))
    assert result.card == Card("Search 'x'", "search", places)
    assert result.raw_output == {"files": 2, "matches": 3, "complete": True}


async def test_lines_around_join_and_gaps_are_marked(searching: FileRig) -> None:
    make_tree(searching.project, {"f": "".join(f"{'hit' if n in (2, 4, 9) else 'line'} {n}\n" for n in range(1, 11))})
    assert await searching.text("grep", pattern="hit", context=1) == (
        "f\n1- line 1\n2: hit 2\n3- line 3\n4: hit 4\n5- line 5\n--\n8- line 8\n9: hit 9\n10- line 10"
    )


async def test_files_and_counts(searching: FileRig) -> None:
    make_tree(searching.project, {"a": "x\nx\n", "b": "x x\n", "c": "y\n"})
    assert await searching.text("grep", pattern="x", output="files") == "a\nb"
    assert await searching.text("grep", pattern="x", output="counts") == "a:2\nb:1\n[3 matching lines in 2 files]"
    assert await searching.text("grep", pattern="x", output="files", limit=1) == (
        "a\n[1 of 2 files shown; narrow the search or raise the limit]"
    )


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"pattern": "ABC"}, []),
        ({"pattern": "ABC", "ignore_case": True}, ["src/a.py", "src/deep/b.js", "top.py"]),
        ({"pattern": "a.c"}, ["src/a.py", "src/deep/b.js", "top.py"]),
        ({"pattern": "a.c", "literal": True}, []),
        ({"pattern": "abc", "glob": "*.py"}, ["src/a.py", "top.py"]),
        ({"pattern": "abc", "glob": "src/**/*.{js,ts}"}, ["src/deep/b.js"]),
        ({"pattern": "abc", "glob": "src/*"}, ["src/a.py"]),
        ({"pattern": "abc", "path": "src"}, ["src/a.py", "src/deep/b.js"]),
        ({"pattern": "abc", "path": "src/deep/b.js"}, ["src/deep/b.js"]),
        ({"pattern": r"(a|z)bc(?=\d)"}, ["src/a.py"]),
        ({"pattern": r"(.)\1"}, ["top.py"]),
    ],
)
async def test_what_is_searched(searching: FileRig, arguments: dict[str, object], files: list[str]) -> None:
    make_tree(searching.project, {"src/a.py": "abc1\n", "src/deep/b.js": "abc\n", "top.py": "abc dd\n"})
    text = await searching.text("grep", output="files", **arguments)
    assert [line for line in text.splitlines() if not line.startswith(("[", "Nothing"))] == files


async def test_ignored_files_are_left_out_and_that_is_said(searching: FileRig) -> None:
    make_tree(
        searching.project,
        {
            ".gitignore": "secret.log\n/build/\n*.tmp\n!keep.tmp\n",
            "secret.log": "needle\n",
            "build/out": "needle\n",
            "sub/build/in": "needle\n",
            "sub/x.tmp": "needle\n",
            "sub/keep.tmp": "needle\n",
            "sub/.gitignore": "deep/\n",
            "sub/deep/d": "needle\n",
            ".git/logs": "needle\n",
            ".hidden": "needle\n",
        },
    )
    found = [".hidden", "sub/build/in", "sub/keep.tmp"]
    assert (await searching.text("grep", pattern="needle", output="files")).splitlines() == found
    assert (await searching.text("grep", pattern="needle", output="files", path="sub")).splitlines() == found[1:]
    assert await searching.text("grep", pattern="needle", path="secret.log") == "secret.log\n1: needle"
    assert (await searching.text("grep", pattern="needle", path="build", output="files")) == "build/out"
    assert await searching.text("grep", pattern="needle", path="sub/deep", output="files") == "sub/deep/d"
    all_of_them = await searching.text("grep", pattern="needle", output="files", include_ignored=True)
    assert all_of_them.splitlines() == [
        ".hidden",
        "build/out",
        "secret.log",
        "sub/build/in",
        "sub/deep/d",
        "sub/keep.tmp",
        "sub/x.tmp",
    ]
    assert await searching.text("grep", pattern="nowhere") == (
        "Nothing found.\n[files that .gitignore names were not searched; name one, or set include_ignored]"
    )


async def test_rules_between_the_top_and_where_a_search_begins_count(searching: FileRig) -> None:
    make_tree(
        searching.project,
        {
            ".gitignore": "*.log\n",
            "a/.gitignore": "!b.log\n/b/c/no\n",
            "a/b/c/b.log": "x\n",
            "a/b/c/z.log": "x\n",
            "a/b/c/no": "x\n",
            "a/b/c/yes": "x\n",
            "a/b/c/.gitignore": "!again.log\n",
            "a/b/c/again.log": "x\n",
            "a/b/own/.git/HEAD": "",
            "a/b/own/r.log": "x\n",
        },
    )
    found = await searching.text("grep", pattern="x", path="a/b/c", output="files")
    assert found.splitlines() == ["a/b/c/again.log", "a/b/c/b.log", "a/b/c/yes"]
    assert await searching.text("grep", pattern="x", path="a/b/own", output="files") == "a/b/own/r.log"


async def test_links_are_not_followed(searching: FileRig, tmp_path: Path) -> None:
    make_tree(tmp_path, {"outside/s": "needle\n", "project/real/r": "needle\n"})
    (searching.project / "out").symlink_to(tmp_path / "outside")
    (searching.project / "file").symlink_to(tmp_path / "outside/s")
    (searching.project / "in").symlink_to("real")
    assert await searching.text("grep", pattern="needle", output="files") == "real/r"
    assert await searching.text("glob", pattern="**") == "real/r"
    assert await searching.text("grep", pattern="needle", path="in", output="files") == "in/r"
    assert (await failure(searching, "grep", pattern="needle", path="out"))[0] == "DENIED"
    assert (await failure(searching, "grep", pattern="needle", path="file"))[0] == "DENIED"
    assert (await failure(searching, "glob", pattern="*", path="out"))[0] == "DENIED"
    assert (await failure(searching, "list", path="out"))[0] == "DENIED"


async def test_secrets_are_left_out_and_that_is_said(searching: FileRig) -> None:
    make_tree(searching.project, {".env": "KEY=needle\n", "a": "needle\n"})
    assert (await searching.text("grep", pattern="needle")).splitlines()[:2] == ["a", "1: needle"]
    assert "KEY" not in await searching.text("grep", pattern="needle")
    assert (await failure(searching, "grep", pattern="needle", path=".env"))[0] == "DENIED"


async def test_binaries_and_encodings(searching: FileRig) -> None:
    make_tree(
        searching.project,
        {
            "bin": b"needle\0\n",
            "late": b"needle\n" + b"x" * 100_000 + b"\0",
            "latin": b"n\xe9edle needle \x80\n",
            "utf16": b"\xff\xfe" + "a needle é\r\n".encode("utf-16-le"),
            "bom": b"\xef\xbb\xbfneedle\n",
        },
    )
    assert await searching.text("grep", pattern="needle") == (
        "bom\n1: needle\n\nlatin\n1: néedle needle €\n\nutf16\n1: a needle é"
    )
    assert await searching.text("grep", pattern="^needle", output="files") == "bom"
    assert await searching.text("grep", pattern="needle", path="bin") == (
        "Nothing found.\n[the file is binary, so no line of it was searched]"
    )


async def test_a_long_line_is_cut_around_the_match(searching: FileRig) -> None:
    make_tree(searching.project, {"min.js": "a" * 500_000 + "needle" + "b" * 500_000})
    text = await searching.text("grep", pattern="needle")
    assert text == (f"min.js\n1: [499,803 characters] …{'a' * 197}needle{'b' * 197}… [499,803 characters]")


async def test_limits_are_told(searching: FileRig) -> None:
    make_tree(searching.project, {f"f{n}": "x\n" * 10 for n in range(4)})
    assert (await searching.text("grep", pattern="x", limit=12)).splitlines()[-3:] == [
        "1: x",
        "2: x",
        "[12 of 40 matching lines shown, from 2 of 4 files; narrow the search or raise the limit]",
    ]
    make_tree(searching.project, {f"f{n}": ("x" * 390 + "\n") * 50 for n in range(4)})
    text = await searching.text("grep", pattern="x")
    assert len(text) < 33 * 1024
    assert text.splitlines()[-1] == (
        "[82 of 200 matching lines shown, from 2 of 4 files; narrow the search or raise the limit]"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"pattern": "("}, "INVALID_PATTERN", "is no regular expression of Python"),
        ({"pattern": "a\nb"}, "INVALID_PATTERN", "one line at a time"),
        ({"pattern": "a", "glob": "[x"}, "INVALID_GLOB", "a bracket is not closed"),
        ({"pattern": "a", "path": "nowhere"}, "NOT_FOUND", "does not exist"),
    ],
)
async def test_what_cannot_be_searched_for(
    searching: FileRig, arguments: dict[str, object], code: str, words: str
) -> None:
    found, message = await failure(searching, "grep", **arguments)
    assert (found, words in message) == (code, True)


async def test_a_pattern_without_end_is_stopped_with_the_turn(rig: FileRig) -> None:
    make_tree(rig.project, {"f": "a" * 60 + "b\n"})
    rig.context.cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await rig.run("grep", pattern="(a+)+$")


async def test_paths_are_found_the_newest_first(searching: FileRig) -> None:
    make_tree(
        searching.project, {"old.py": "", "src/new.py": "", "src/mid.ts": "", ".gitignore": "*.log\n", "x.log": ""}
    )
    for age, name in enumerate([".gitignore", "src/new.py", "src/mid.ts", "old.py", "x.log"]):
        os.utime(searching.project / name, (1000 - age, 1000 - age))
    result = await searching.run("glob", pattern="*.py")
    assert await searching.text("glob", pattern="*.py") == "src/new.py\nold.py"
    assert result.card == Card(
        "Find *.py", "search", tuple(Location(str(searching.project / one)) for one in ("src/new.py", "old.py"))
    )
    assert result.raw_output == {"files": 2, "complete": True}
    assert await searching.text("glob", pattern="**") == ".gitignore\nsrc/new.py\nsrc/mid.ts\nold.py"
    assert await searching.text("glob", pattern="*.{ts,log}", include_ignored=True) == "src/mid.ts\nx.log"
    assert await searching.text("glob", pattern=f"{searching.project}/src/*.ts") == "src/mid.ts"
    assert await searching.text("glob", pattern="*", path="src", limit=1) == (
        "src/new.py\n[1 of 2 files shown; narrow the pattern or raise the limit]"
    )
    assert await searching.text("glob", pattern="*.log") == (
        "Nothing found.\n[files that .gitignore names were not searched; name one, or set include_ignored]"
    )


async def test_a_directory_is_listed(rig: FileRig) -> None:
    make_tree(rig.project, {"b.txt": "12345", "a/x": "", "Z/y": "", ".hidden": ""})
    (rig.project / "link").symlink_to("b.txt")
    os.mkfifo(rig.project / "pipe")
    assert await rig.text("list") == ("Z/\na/\n.hidden  (0)\nb.txt  (5)\nlink -> b.txt\npipe  (no regular file)")
    result = await rig.run("list", path="a", limit=1)
    assert result.card == Card("List a", "read", (Location(str(rig.project / "a")),))
    assert result.raw_output == {"path": str(rig.project / "a"), "count": 1, "more": False}
    assert await rig.text("list", limit=2) == "Z/\na/\n[the first 2 names; there are more]"
    (rig.project / "empty").mkdir()
    assert await rig.text("list", path="empty") == "[the directory is empty]"
    assert await failure(rig, "list", path="b.txt") == ("NOT_A_DIRECTORY", "b.txt is no directory; use read for files")
    assert await failure(rig, "list", path="B") == ("NOT_FOUND", "B does not exist")


async def test_what_is_no_file_is_refused_at_once(rig: FileRig) -> None:
    os.mkfifo(rig.project / "pipe")
    for name, arguments in (("read", {}), ("grep", {"pattern": "x"}), ("write", {"content": "x"})):
        assert (await failure(rig, name, path="pipe", **arguments))[0] == "NOT_A_FILE"


def test_the_calls_can_be_judged_and_drawn_before_they_run(rig: FileRig) -> None:
    grep, glob, listing = (rig.tools[name] for name in ("grep", "glob", "list"))
    search = GrepArguments(pattern="a\nb" * 100, path="src", glob="*.py")
    assert grep.effect(search, "/w") == Effect("read", ("/w/src",))
    title = grep.card(search, "/w").title
    assert (len(title) <= 120, title.startswith("Search 'a\\nba"), title.endswith("… in src (*.py)")) == (
        True,
        True,
        True,
    )
    find = GlobArguments(pattern="/etc/x/*.conf")
    assert glob.effect(find, "/w") == Effect("read", ("/etc/x",))
    assert glob.card(find, "/w") == Card("Find *.conf in /etc/x", "search")
    assert listing.effect(ListArguments(), "/w") == Effect("read", ("/w",))
    assert listing.card(ListArguments(), "/w") == Card("List .", "read", (Location("/w"),))
    assert all((grep.parallel(search), glob.parallel(find), listing.parallel(ListArguments())))
