"""`/permissions`: rules are listed, made, kept and taken back by the person, and each change is in the log."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from acp_server.acp.permission_command import permissions
from acp_server.agent.agent import Agent
from acp_server.agent.consent.grants import session_rules
from acp_server.agent.consent.rules import Rule
from acp_server.app.kept_rules import RuleFile
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from tests.support.clock import FakeClock

DENY_PUSH = "deny user command git push *"


class Desk:
    def __init__(self, base: Path) -> None:
        self.cwd = str(base / "project")
        self.session = Session(SessionHeader(SessionId("s"), 0, self.cwd), now=FakeClock().now_ms)
        self.kept = RuleFile(lambda: str(base / "config"))

    def say(self, args: str) -> str:
        return permissions(cast("Agent", SimpleNamespace(session=self.session)), args, self.kept)

    def changes(self) -> list[tuple[Any, Any]]:
        events = [event.data for event in self.session.events.since(0)]
        return [(data["change"], cast("Any", data["rule"])["scope"]) for data in events]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(tmp_path.resolve())


def test_without_rules_it_says_so_and_names_the_mode(desk: Desk) -> None:
    lines = desk.say("").split("\n")
    assert lines[0].startswith("The mode is ask: Asks before each edit")
    assert lines[1] == "There are no rules."


def test_rules_are_made_listed_and_taken_back(desk: Desk) -> None:
    said = [desk.say(args) for args in (DENY_PUSH, "allow project edit docs", "allow session command make 'a b'")]
    assert said[0] == "It holds from here on: deny command git push … (user)."
    assert desk.say("").split("\n")[1:4] == [
        "1. deny command git push … (user)",
        f"2. allow edit {desk.cwd}/docs (project)",
        "3. allow command make 'a b' (session)",
    ]
    assert desk.kept.rules(desk.cwd) == (
        Rule("deny", "command", "user", words=("git", "push"), any_rest=True),
        Rule("allow", "edit", "project", path=f"{desk.cwd}/docs"),
    )
    assert desk.say("revoke 2").startswith("It does not hold any more: allow edit")
    assert desk.say("revoke 2") == "It does not hold any more: allow command make 'a b' (session)."
    assert desk.changes() == [
        ("added", "user"), ("added", "project"), ("added", "session"), ("revoked", "project"), ("revoked", "session"),
    ]  # fmt: skip
    assert (len(desk.kept.rules(desk.cwd)), session_rules(desk.session.events.milestones())) == (1, ())


def test_a_rule_of_the_session_is_kept_for_the_project(desk: Desk) -> None:
    desk.say("allow session command make")
    assert desk.say("keep 1 project") == "It is kept: allow command make (project)."
    made = Rule("allow", "command", "project", words=("make",))
    assert (desk.kept.rules(desk.cwd), session_rules(desk.session.events.milestones())) == ((made,), ())
    assert desk.say("keep 1 project") == "It is kept: allow command make (project)."
    assert desk.say("keep 1 user") == "It is kept: allow command make (user)."
    assert desk.kept.rules("/elsewhere") == (Rule("allow", "command", "user", words=("make",)),)


@pytest.mark.parametrize(
    "args", ["what", "revoke", "revoke 1 2", "keep 1", "keep 1 session", "allow session command", "allow all edit x"]
)
def test_what_is_no_order_is_answered_with_the_orders(desk: Desk, args: str) -> None:
    assert desk.say(args).startswith("Say `/permissions` alone, or with: ")
    assert desk.changes() == []


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("revoke 1", "NO_SUCH_RULE"),
        ("revoke x", "NO_SUCH_RULE"),
        ("keep 0 user", "NO_SUCH_RULE"),
        ("allow session command make; rm -rf x", "INVALID_RULE"),
        ("allow session command make $(x)", "INVALID_RULE"),
        ("allow session command *", "INVALID_RULE"),
        ("allow session fetch 127.0.0.1", "INVALID_RULE"),
        ("allow session read x", "INVALID_RULE"),
    ],
)
def test_what_no_rule_can_be_is_refused(desk: Desk, args: str, code: str) -> None:
    with pytest.raises(ServerError) as refused:
        desk.say(args)
    assert (refused.value.code, desk.changes(), desk.kept.rules(desk.cwd)) == (code, [], ())
