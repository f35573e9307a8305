"""Which files of a project instruct, how much of them, and from when (docs/instructions.md, clauses I-1 to I-6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_server.app.instructions import FILE_BYTES, HEAD, Instructions, project_root
from acp_server.app.surroundings import checked_out, day
from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    (root / ".git").mkdir(parents=True)
    (root / "sub" / "deep").mkdir(parents=True)
    return root


def session(cwd: Path) -> Session:
    return Session(SessionHeader(SessionId("s"), 0, str(cwd)), now=lambda: 0)


def told(cwd: Path) -> list[tuple[str, str]]:
    return parts(Instructions().text(session(cwd)))


def parts(text: str | None) -> list[tuple[str, str]]:
    if text is None:
        return []
    assert text.startswith(HEAD)
    found = [part.partition('">\n') for part in text.split('<instructions file="')[1:]]
    return [(Path(path).name, words.partition("\n</instructions>")[0]) for path, _, words in found]


def test_without_files_nothing_is_told(project: Path) -> None:
    assert told(project) == []


def test_files_count_from_the_root_to_the_working_directory(project: Path) -> None:
    (project / "AGENTS.md").write_text("root\n", "utf-8")
    (project / "CLAUDE.md").write_text("not read", "utf-8")
    (project / "sub" / "CLAUDE.md").write_text("sub", "utf-8")
    (project / "sub" / "deep" / "AGENTS.md").write_text("deep", "utf-8")
    (project.parent / "AGENTS.md").write_text("outside", "utf-8")
    assert told(project / "sub") == [("AGENTS.md", "root"), ("CLAUDE.md", "sub")]


def test_without_a_repository_the_working_directory_alone_counts(tmp_path: Path) -> None:
    here = tmp_path.resolve() / "a" / "b"
    here.mkdir(parents=True)
    (here / "AGENTS.md").write_text("here", "utf-8")
    (here.parent / "AGENTS.md").write_text("above", "utf-8")
    assert project_root(str(here)) == str(here)
    assert told(here) == [("AGENTS.md", "here")]


def test_a_directory_below_counts_once_a_call_has_named_a_file_there(project: Path) -> None:
    (project / "sub" / "AGENTS.md").write_text("sub", "utf-8")
    (project / "sub" / "deep" / "AGENTS.md").write_text("deep", "utf-8")
    talk, instructions = session(project), Instructions()
    assert instructions.text(talk) is None
    places: list[JsonValue] = [{"path": str(project / "sub" / "x.py")}, {"path": "/etc/passwd"}]
    view: dict[str, JsonValue] = {"title": "Read", "kind": "read", "locations": places}
    call: dict[str, JsonValue] = {"turn": 1, "step": 1, "callId": "c", "name": "read", "arguments": "{}", "view": view}
    talk.append("tool/call", call)
    assert parts(instructions.text(talk)) == [("AGENTS.md", "sub")]
    instructions.forget("s")
    assert parts(instructions.text(talk)) == [("AGENTS.md", "sub")]


def test_a_change_is_seen_and_a_long_file_is_cut(project: Path) -> None:
    talk, instructions = session(project), Instructions()
    (project / "AGENTS.md").write_text("one", "utf-8")
    assert parts(instructions.text(talk)) == [("AGENTS.md", "one")]
    (project / "AGENTS.md").write_text("x" * (FILE_BYTES + 5), "utf-8")
    [(_, words)] = parts(instructions.text(talk))
    assert words == "x" * FILE_BYTES + "\n(5 more bytes are not read)"
    (project / "AGENTS.md").unlink()
    assert instructions.text(talk) is None


def test_all_together_are_bounded(project: Path) -> None:
    for folder in (project, project / "sub", project / "sub" / "deep"):
        (folder / "AGENTS.md").write_text(folder.name[0] * FILE_BYTES, "utf-8")
    text = Instructions().text(session(project / "sub" / "deep"))
    assert text is not None
    assert [words[:1] for _, words in parts(text)] == ["p", "s"]
    assert text.endswith("AGENTS.md is left out: there are more instructions than are read.)")


def test_a_link_out_of_the_project_and_a_directory_are_passed_over(project: Path) -> None:
    outside = project.parent / "secret"
    outside.write_text("secret", "utf-8")
    (project / "AGENTS.md").symlink_to(outside)
    (project / "sub" / "AGENTS.md").mkdir()
    (project / "sub" / "CLAUDE.md").symlink_to(project / "real.md")
    (project / "real.md").write_text("real", "utf-8")
    assert told(project / "sub") == [("CLAUDE.md", "real")]


def test_what_is_checked_out_is_read_from_the_repository(project: Path, tmp_path: Path) -> None:
    assert checked_out(str(tmp_path.resolve())) is None
    assert checked_out(None) is None
    (project / ".git" / "HEAD").write_text("ref: refs/heads/a/b\n", "utf-8")
    assert checked_out(str(project / "sub")) == "branch a/b"
    (project / ".git" / "HEAD").write_text("0123456789abcdef\n", "utf-8")
    assert checked_out(str(project)) == "commit 0123456789ab"
    (project / ".git" / "rebase-merge").mkdir()
    (project / ".git" / "BISECT_LOG").touch()
    assert checked_out(str(project)) == "commit 0123456789ab, a rebase is under way, a bisection is under way"
    (project / ".git" / "worktrees" / "w").mkdir(parents=True)
    (project / ".git" / "worktrees" / "w" / "HEAD").write_text("ref: refs/heads/w\n", "utf-8")
    tree = project.parent / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {project}/.git/worktrees/w\n", "utf-8")
    assert checked_out(str(tree)) == "branch w"


def test_the_day_is_told_without_a_time() -> None:
    assert day(lambda: 1_700_000_000_000) == "2023-11-14 (UTC)"
