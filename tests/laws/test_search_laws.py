"""The law of searching: with ripgrep and without, the same files match, as often, in the same lines."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_server.base.json_value import JsonObject
from acp_server.sandbox.facts import Host
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.roots import Roots
from acp_server.sandbox.verdict import verdict
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.tool import ToolError
from tests.support.file_rig import FileRig, make_tree, text_of
from tests.support.ripgrep import ripgrep

names = st.sampled_from(["a", "b.py", "c.log", ".d", "e.tmp", "build", "src", "F G", "ü"])
folders = st.lists(st.sampled_from(["src", "build", "deep", ".h", "x y", "[z]"]), max_size=3)
words = [
    "foo",
    "bar",
    "x",
    "1",
    "2.5",
    " ",
    "\t",
    ".",
    "@",
    "é",
    "été",
    "日",
    "\r\n",
    "\n",
    "\n",
    "FOO",
    "/",
    '"',
    "_",
    "A",
]
contents = st.one_of(
    st.lists(st.sampled_from(words), max_size=12).map("".join).map(str.encode),
    st.lists(st.sampled_from([b"foo", b"\xe9", b"\n", b"bar", b"\xff"]), max_size=8).map(b"".join),
    st.lists(st.sampled_from(["foo", "é", "\n"]), max_size=8).map("".join).map(lambda text: text.encode("utf-16")),
    st.sampled_from([b"foo\0", b"\xef\xbb\xbffoo\n", b"", b"foo\n" * 3]),
)
rules = st.lists(
    st.sampled_from(
        ["*.log", "!c.log", "build/", "/src", "*.tmp", "src/b.py", "**/deep", "deep/**", "!deep/a", ".h", "[abc]"]
    ),
    max_size=4,
).map("\n".join)
patterns = st.sampled_from(
    [
        "foo",
        "o.b",
        "^x",
        r"\d$",
        r"\bfoo\b",
        r"\w+\s",
        r"\W",
        r"[^f]o",
        r"[\w.]+@",
        r"[^\W\d]",
        "x{1,2}",
        r"(foo|bar)+$",
        "é",
        "^$",
        ".",
        "x*",
        r"\S\r?$",
        '"',
        "(?=f)foo",
        "[[:alpha:]]",
    ]
)
globs = st.sampled_from([None, None, "*.py", "src/*", "**/*.{py,log}", "[a-c]*", "**/deep/**"])


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    tree: dict[str, bytes] = {}
    for _ in range(draw(st.integers(1, 8))):
        tree["/".join([*draw(folders), draw(names)])] = draw(contents)
    for _ in range(draw(st.integers(0, 2))):
        tree["/".join([*draw(folders), ".gitignore"])] = draw(rules).encode()
    taken = {name.rpartition("/")[0][: n or None] for name in tree for n in range(1)}
    parents = {"/".join(name.split("/")[:n]) for name in tree for n in range(1, name.count("/") + 1)}
    return {name: data for name, data in tree.items() if name not in parents | taken}


async def answers(root: Path, tree: dict[str, bytes], calls: list[tuple[str, JsonObject]]) -> list[list[str]]:
    found: list[list[str]] = []
    for program in (ripgrep(), None):
        rig = FileRig(root, ripgrep=program)
        if not found:
            make_tree(rig.project, tree)
        told = []
        for name, arguments in calls:
            try:
                told.append(text_of(await rig.run(name, **arguments)))
            except ToolError as error:
                told.append(f"{error.code}: {error.message}")
        rig.close()
        found.append(told)
    return found


where = st.tuples(patterns, globs, st.sampled_from([".", "src", "build"]))


@settings(max_examples=40, deadline=None)
@example({"src/a": b"\xe9foo\n", "src/b.py": b"foo\0"}, ("^.", None, "src"), (True, False))
@given(trees(), where, st.tuples(st.booleans(), st.booleans()))
def test_both_searches_give_the_same(
    tree: dict[str, bytes], question: tuple[str, str | None, str], flags: tuple[bool, bool]
) -> None:
    (pattern, glob, path), (ignore_case, ignored) = question, flags
    common: JsonObject = {"path": path, "include_ignored": ignored}
    grep: JsonObject = {"pattern": pattern, "glob": glob, "ignore_case": ignore_case, **common}
    calls: list[tuple[str, JsonObject]] = [
        ("grep", grep),
        ("grep", {**grep, "output": "counts"}),
        ("glob", {"pattern": glob or "**", **common}),
    ]
    with tempfile.TemporaryDirectory() as folder:
        first, second = asyncio.run(answers(Path(folder), tree, calls))
    assert first == second


segments = st.sampled_from(
    ["home", "u", ".ssh", "id", ".config", "gh", "git", "credentials", ".env", "a.pem", "p", "node_modules", "run", "x"]
)
canonical = st.lists(segments, min_size=1, max_size=7).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(canonical, min_size=1, max_size=8), st.sampled_from(["/home/u/p", "/home/u/.config/gh/p", "/p/x/x"]))
def test_what_a_search_may_read_is_what_the_fence_lets_be_read(paths: list[str], workspace: str) -> None:
    policy = Policy("workspace-write", workspace, allowed_paths=("/home/u/p/x/.env",))
    host = Host("/home/u", "u", "/home/u/p/x/x/state", ("/home/u/p/x/x/x",))
    roots = Roots(())
    files = LocalFiles(roots, policy, host)
    paths += [f"{workspace}{path}" for path in paths]
    assert [files.readable(path) for path in paths] == [verdict("read", path, policy, host) is None for path in paths]
    roots.close()
