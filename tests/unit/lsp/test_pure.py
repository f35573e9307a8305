"""The pure parts: which servers there are, borders of messages, positions, and what a model is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.app.settings_schema import KNOWN_SERVERS
from acp_server.base.errors import ServerError
from acp_server.lsp.changed import Changed, changed_files
from acp_server.lsp.framing import MOST_BYTES, BodySplitter, framed
from acp_server.lsp.positions import Place, find_name, lines_of, to_character, to_unit
from acp_server.lsp.problems import Found, Problem, told
from acp_server.lsp.programs import find_program
from acp_server.lsp.servers import KNOWN, LanguageServer, choose, serving


def names(servers: tuple[LanguageServer, ...]) -> list[str]:
    return [server.name for server in servers]


def test_the_settings_know_the_same_servers() -> None:
    assert names(KNOWN) == list(KNOWN_SERVERS)


def test_one_server_of_each_group_that_is_installed_is_used() -> None:
    def everything(server: LanguageServer) -> str:
        return server.name

    assert names(choose({}, everything)) == ["ty", "ruff", "typescript"]
    assert names(choose({"ty": {"disabled": True}}, everything)) == ["basedpyright", "ruff", "typescript"]
    assert names(choose({"basedpyright": {}}, everything)) == ["basedpyright", "ruff", "typescript"]
    assert choose({}, lambda _server: None) == ()


def test_a_server_of_the_settings_is_used_and_serves_its_files() -> None:
    table = {"command": ["gopls"], "languages": {".go": "go"}, "settings": {"a": 1}, "options": {"b": 2}}
    (server,) = choose({"gopls": table, "empty": {}}, lambda _server: None)
    assert (server.command, server.languages, server.settings, server.options) == (
        ("gopls",),
        ((".go", "go"),),
        {"a": 1},
        {"b": 2},
    )
    assert (serving((server,), "/p/a.go"), serving((server,), "/p/a.py")) == ((server,), ())


def test_a_program_is_found_outside_of_the_workspace_alone(tmp_path: Path) -> None:
    inside, outside = tmp_path / "project" / "bin", tmp_path / "bin"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "ty").write_text("#!/bin/sh\n", "utf-8")
        (folder / "ty").chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "ty").symlink_to(inside / "ty")
    path = f"relative:{inside}:{tmp_path / 'links'}:{outside}"
    assert find_program(KNOWN[0], path, str(tmp_path / "project")) == str(outside / "ty")
    assert find_program(KNOWN[0], str(inside), str(tmp_path / "project")) is None
    assert find_program(KNOWN[0], str(inside)) == str(inside / "ty")


@pytest.mark.parametrize(
    ("version", "found"), [('{"version": "7.0.2"}', True), ('{"version": "5.9.3"}', False), ("{", False)]
)
def test_a_compiler_counts_when_it_has_a_server(version: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "package.json").write_text(version, "utf-8")
    (tmp_path / "bin" / "tsc").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "bin" / "tsc").chmod(0o755)
    assert (find_program(KNOWN[3], str(tmp_path / "bin")) is not None) is found


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(1, 64))
def test_bodies_come_back_whatever_the_pieces(bodies: list[bytes], size: int) -> None:
    stream, splitter, found = b"".join(map(framed, bodies)), BodySplitter(), []
    for start in range(0, len(stream), size):
        found += list(splitter.feed(stream[start : start + size]))
    assert found == bodies


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 5000,
        b"Content-Type: a\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MOST_BYTES + 1),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ServerError):
        list(BodySplitter().feed(data))


def test_headers_of_any_kind_are_read() -> None:
    data = b"Content-Type: x\r\ncontent-length:  2\r\n\r\n{}"
    assert list(BodySplitter().feed(data)) == [b"{}"]


@given(st.text(max_size=40), st.integers(0, 40))
def test_positions_go_both_ways(line: str, index: int) -> None:
    index = min(index, len(line))
    assert to_character(line, to_unit(line, index)) == index + 1


def test_a_name_is_found_in_its_line_near_it_or_anywhere() -> None:
    lines = lines_of("area2 = 1\r\n\u2028\U0001f600 area = os.path.join\n\narea()\n")
    assert len(lines) == 5
    assert find_name(lines, "area", None) == Place(1, 4)
    assert find_name(lines, "area", 4) == Place(3, 0)
    assert find_name(lines, "area", 3) == Place(1, 4)
    assert find_name(lines, "os.path.join", 1) == Place(1, 19)
    assert find_name(lines, "gone", None) is None
    assert find_name(lines, "area2", 1000) is None


A, B = Problem(2, 1, "warning", "odd\nthing", "s", "W1"), Problem(9, 1, "error", "bad", "s")


def told_of(*found: Found, hints: bool = False, lines: int = 20) -> str:
    return told("a.py", found, most_lines=lines, most_bytes=4096, hints=hints)


def test_the_worst_is_told_first_and_twice_is_once() -> None:
    hint = Problem(1, 1, "hint", "nice", "s")
    found = (Found("x", (A, B, hint)), Found("y", (B,)), Found("z", silent="no answer within 5 s"))
    head = "Diagnostics of a.py (x, y): 1 error, 1 warning"
    rest = ["a.py:9:1 error: bad [s]", "a.py:2:1 warning: odd thing [s W1]", "[z: no answer within 5 s]"]
    assert told_of(*found).split("\n") == [head, *rest]
    assert "1 hint" in told_of(*found, hints=True)


def test_nothing_wrong_is_told_too_and_much_is_cut() -> None:
    assert told_of(Found("x")) == "Diagnostics of a.py (x): no errors or warnings"
    many = tuple(Problem(number, 1, "error", "e" * 1000, "s") for number in range(1, 100))
    said = told_of(Found("x", many), lines=5).split("\n")
    assert (said[0], len(said), said[-1]) == ("Diagnostics of a.py (x): 99 errors", 7, "… 94 more")
    assert max(map(len, said)) < 400


def test_the_files_that_a_call_changed_are_those_of_its_diffs() -> None:
    diffs = [{"path": "/a", "old": "1", "new": "2"}, {"path": "/b", "new": "3"}, {"path": "/a", "old": "4", "new": "5"}]
    meta = json.loads(json.dumps({"card": {"title": "t", "kind": "edit", "diffs": diffs}}))
    assert changed_files(meta) == (Changed("/a", ("2", "5"), made=False), Changed("/b", ("3",), made=True))
    assert (changed_files(None), changed_files({"card": {"title": "t"}})) == ((), ())


def test_describing_the_tools_loads_neither_pygls_nor_pydantic() -> None:
    code = (
        "import sys; from types import SimpleNamespace as Any;"
        "from acp_server.app.parts.lsp import _Lsp;"
        "table = {'command': ['gopls'], 'languages': {'.go': 'go'}};"
        "tools = _Lsp(Any(machine=None, environment={'PATH': '/usr/bin'}), {'gopls': table}, 5.0).describe();"
        "print(len(tools), [name for name in ('pygls', 'lsprotocol', 'attrs', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "5 []\n"
