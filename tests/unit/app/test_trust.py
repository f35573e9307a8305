"""What a workspace brings, and in which content it is trusted (docs/skills.md, section T)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_server.app.places import Places
from acp_server.app.project_brings import MOST_FILES, Project
from acp_server.app.skill_book import SkillBook
from acp_server.app.trust import NAME, TrustFile
from acp_server.base.errors import ServerError

SKILL = "---\ndescription: Does it.\n---\nHow."


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    return root


def test_trust_is_for_one_content(tmp_path: Path) -> None:
    file = TrustFile(str(tmp_path / "state"))
    assert not file.trusts("/p", "1")
    file.grant("/p", "1")
    file.grant("/q", "2")
    assert (file.trusts("/p", "1"), file.trusts("/p", "2"), file.trusts("/q", "2")) == (True, False, True)
    file.revoke("/p")
    assert (file.trusts("/p", "1"), file.trusts("/q", "2")) == (False, True)
    assert (tmp_path / "state" / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2, "projects": {"/p": "1"}}', '{"version": 1}'])
def test_a_broken_file_trusts_nothing(tmp_path: Path, text: str) -> None:
    put(tmp_path / NAME, text).chmod(0o600)
    assert not TrustFile(str(tmp_path)).trusts("/p", "1")


def test_a_file_that_others_may_write_and_a_link_trust_nothing(tmp_path: Path) -> None:
    file = TrustFile(str(tmp_path))
    file.grant("/p", "1")
    (tmp_path / NAME).chmod(0o622)
    assert not file.trusts("/p", "1")
    (tmp_path / NAME).chmod(0o600)
    (tmp_path / NAME).rename(tmp_path / "elsewhere")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    assert not file.trusts("/p", "1")


def test_a_digest_changes_with_any_file(root: Path) -> None:
    project = Project(str(root))
    assert not project.look()
    put(root / ".agents" / "skills" / "it" / "SKILL.md", SKILL)
    first = project.look()
    assert [skill.name for skill in first.skills] == ["it"]
    assert project.look() is first
    put(root / ".agents" / "skills" / "it" / "run.sh", "true")
    second = project.look()
    put(root / ".agents" / "skills" / "it" / "run.sh", "false")
    assert len({first.digest, second.digest, project.look().digest}) == 3


def test_hooks_are_those_of_the_digested_bytes(root: Path) -> None:
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}
    put(root / ".claude" / "settings.json", json.dumps({"hooks": hooks, "model": "x"}))
    put(root / ".agents" / "hooks.json", "broken")
    brought = Project(str(root)).look()
    assert brought.hooks == (hooks,)
    assert len(brought.digest) == 64


def test_a_link_out_of_the_workspace_brings_nothing(root: Path) -> None:
    put(root.parent / "elsewhere" / "it" / "SKILL.md", SKILL)
    (root / ".agents").mkdir()
    (root / ".agents" / "skills").symlink_to(root.parent / "elsewhere")
    assert not Project(str(root)).look()


def test_too_much_cannot_be_trusted(root: Path) -> None:
    put(root / ".agents" / "skills" / "it" / "SKILL.md", SKILL)
    for number in range(MOST_FILES):
        put(root / ".agents" / "skills" / "it" / f"{number:03}", "")
    assert Project(str(root)).look().digest == ""


def test_the_persons_own_skill_goes_before_a_workspaces(root: Path) -> None:
    home = root.parent / "home"
    put(root / ".agents" / "skills" / "it" / "SKILL.md", SKILL.replace("Does it.", "Theirs."))
    put(home / "skills" / "it" / "SKILL.md", SKILL)
    book = SkillBook(Places(str(home), str(home), str(home)))
    digits = Project(str(root)).look().digest[:12]
    with pytest.raises(ServerError, match="are others than that"):
        book.trust(str(root), "0" * 12)
    assert book.trust(str(root), digits).startswith("What this project brings is used from here on")
    assert [skill.description for skill in book.skills(str(root))] == ["Does it."]
    assert book.readable() == (str(home / "skills" / "it"),)
    assert book.notice(str(root)) is None
    assert book.trust(str(root), "no") == "Nothing that this project brings is used."
    assert book.notice(str(root)) == "This project brings 1 skill; nothing of it is used until you look with `/trust`."
