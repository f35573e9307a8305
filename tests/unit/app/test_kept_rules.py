"""Rules that outlive a session: one file, safe with several servers, and nothing is taken from one that is not ours."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from acp_server.agent.consent.rules import Rule
from acp_server.app.kept_rules import RuleFile
from acp_server.base.errors import ServerError

MAKE = Rule("allow", "command", "project", words=("make", "a b"))
PUSH = Rule("deny", "command", "user", words=("git", "push"), any_rest=True)
DOCS = Rule("allow", "edit", "project", path="/p/docs")
HOST = Rule("deny", "fetch", "user", host="example.org")

ADDING = """
import sys
from acp_server.agent.consent.rules import Rule
from acp_server.app.kept_rules import RuleFile
folder, name = sys.argv[1:]
for number in range(20):
    RuleFile(lambda: folder).add(Rule("allow", "command", "project", words=(name, str(number))), "/p")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "config"


def opened(folder: Path) -> RuleFile:
    return RuleFile(lambda: str(folder))


def test_without_a_file_there_are_no_rules_and_none_is_made(folder: Path) -> None:
    assert (opened(folder).rules("/p"), folder.exists()) == ((), False)


def test_rules_are_kept_by_project_and_for_the_person(folder: Path) -> None:
    first, second = opened(folder), opened(folder)
    for rule in (MAKE, PUSH, DOCS, HOST, MAKE):
        first.add(rule, "/p")
    assert second.rules("/p") == (PUSH, HOST, MAKE, DOCS)
    assert second.rules("/p/sub") == second.rules("/q") == (PUSH, HOST)
    assert [second.remove(rule, "/p") for rule in (MAKE, MAKE, PUSH)] == [True, False, True]
    assert first.rules("/p") == (HOST, DOCS)
    path = folder / "permissions.json"
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder, path)] == [0o700, 0o600]
    assert sorted(place.name for place in folder.iterdir()) == ["permissions.json", "permissions.json.lock"]


def test_no_change_of_another_process_is_lost(folder: Path) -> None:
    names = ["one", "two", "three"]
    adding = [subprocess.Popen([sys.executable, "-c", ADDING, str(folder), name]) for name in names]
    assert [process.wait(120) for process in adding] == [0, 0, 0]
    kept = opened(folder).rules("/p")
    assert {rule.words for rule in kept} == {(name, str(number)) for name in names for number in range(20)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "BROKEN_RULES"),
        ("[]", "BROKEN_RULES"),
        ("{", "BROKEN_RULES"),
        ("[" * 100_000, "BROKEN_RULES"),
        ('{"version": 2, "user": [], "projects": {}}', "BROKEN_RULES"),
        ('{"version": 1, "user": [{}], "projects": {}}', "BROKEN_RULES"),
        ('{"version": 1, "user": {"a": 1}, "projects": {}}', "BROKEN_RULES"),
        (json.dumps({"version": 1, "user": [MAKE.to_json()], "projects": {}}), "BROKEN_RULES"),
        (json.dumps({"version": 1, "user": [], "projects": {"/p": [PUSH.to_json()]}}), "BROKEN_RULES"),
        (json.dumps({"version": 1, "user": [{**PUSH.to_json(), "words": []}], "projects": {}}), "BROKEN_RULES"),
        (json.dumps({"version": 1, "user": [{**PUSH.to_json(), "scope": "all"}], "projects": {}}), "BROKEN_RULES"),
        (" " * (5 << 20), "BROKEN_RULES"),
    ],
)
def test_what_this_server_did_not_write_is_refused_whole(folder: Path, text: str, code: str) -> None:
    folder.mkdir()
    path = folder / "permissions.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ServerError) as refused:
        opened(folder).rules("/p")
    assert refused.value.code == code
    with pytest.raises(ServerError):
        opened(folder).add(MAKE, "/p")
    assert path.read_text() == text


def test_a_file_that_others_may_write_or_that_is_a_link_is_not_used(folder: Path) -> None:
    rules = opened(folder)
    rules.add(PUSH, "/p")
    path = folder / "permissions.json"
    path.chmod(0o622)
    with pytest.raises(ServerError, match="can be written by others"):
        rules.rules("/p")
    path.chmod(0o600)
    assert rules.rules("/p") == (PUSH,)
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    with pytest.raises(ServerError) as refused:
        rules.rules("/p")
    assert refused.value.code == "UNSAFE_RULES"
