from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.permissions import Permissions, effect_text, options, outcome_of, raw_input, title
from acp_server.agent.consent.approvals import Outcome, Question
from acp_server.agent.consent.rules import Rule
from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.base.values import replace
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError
from acp_server.jsonrpc.peer import Peer
from acp_server.tools.tool import Card, Diff, Effect, Location

ONCE = {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"}
NO = {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"}
CARD = Card("Edit a", "edit", (Location("/p/a", 3),), (Diff("/p/a", "x", "y"),))
EDIT = Question(
    "c", "edit", Effect("edit", ("/p/a",)), CARD, "Why.", Rule("allow", "edit", "session", path="/p/a"), "/p", "Bounds."
)
COMMAND = Question(
    "c", "bash", Effect("execute", command="make"), Card("Build it", "execute"), "Why.", None, "/p", "Bounds."
)


def selected(option: object) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option}}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (selected("allow-once"), "allowed-once"),
        (selected("allow-session"), "allowed-session"),
        (selected("reject-session"), "rejected-session"),
        (selected("reject-once"), "rejected"),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
        ({"outcome": {"outcome": "cancelled", "optionId": "allow-once"}}, "cancelled"),
        (selected("allow_once"), "rejected"),
        (selected("ALLOW-ONCE"), "rejected"),
        (selected("allow-once "), "rejected"),
        (selected(""), "rejected"),
        (selected(None), "rejected"),
        (selected(1), "rejected"),
        (selected(["allow-once"]), "rejected"),
        (selected({"optionId": "allow-once"}), "rejected"),
        ({"outcome": {"outcome": "selected"}}, "rejected"),
        ({"outcome": {"optionId": "allow-once"}}, "rejected"),
        ({"outcome": {"outcome": "Selected", "optionId": "allow-once"}}, "rejected"),
        ({"outcome": {"outcome": True, "optionId": "allow-once"}}, "rejected"),
        ({"outcome": "selected", "optionId": "allow-once"}, "rejected"),
        ({"outcome": ["selected", "allow-once"]}, "rejected"),
        ({"outcome": None}, "rejected"),
        ({"optionId": "allow-once"}, "rejected"),
        ({}, "rejected"),
    ],
)
def test_only_an_option_that_was_offered_is_a_yes(result: dict[str, Any], outcome: Outcome) -> None:
    assert outcome_of(result, "session") == outcome
    expected = "rejected" if outcome.endswith("-session") else outcome
    assert [outcome_of(result, scope) for scope in (None, "project", "user")] == [expected] * 3


def test_a_yes_comes_first_and_one_that_is_kept_says_what_for() -> None:
    kept = {"optionId": "allow-session", "name": "Allow for this session: changes of /p/a", "kind": "allow_always"}
    never = {"optionId": "reject-session", "name": "Reject for this session: changes of /p/a", "kind": "reject_always"}
    assert (options(EDIT), options(COMMAND)) == ([ONCE, kept, never, NO], [ONCE, NO])
    longer = replace(COMMAND, kept=Rule("allow", "command", "project", words=("make", "a b")))
    named = {"optionId": "allow-project", "name": "Allow for this project: make 'a b'", "kind": "allow_always"}
    denied = {"optionId": "reject-project", "name": "Reject for this project: make 'a b'", "kind": "reject_always"}
    assert options(longer) == [ONCE, named, denied, NO]
    assert outcome_of(selected("allow-project"), "project") == "allowed-project"
    assert outcome_of(selected("reject-project"), "project") == "rejected-project"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("allow", "fetch", "session", host="a.test"), "for this session: requests to a.test"),
        (Rule("allow", "mcp", "session", server="s", tool="t"), "for this session: s: t"),
    ],
)
def test_what_is_remembered_is_named(rule: Rule, words: str) -> None:
    names = [option["name"] for option in options(replace(COMMAND, kept=rule))]
    assert names == ["Allow once", f"Allow {words}", f"Reject {words}", "Reject"]


def test_a_command_is_shown_whole_and_as_it_is() -> None:
    command = "echo sk-abcdef0123456789 \u202e; rm -rf ~\n```\n"
    sly = replace(COMMAND, effect=Effect("execute", command=command))
    assert title(sly) == r"echo [secret] \u{202E}; rm -rf ~ ```"
    assert effect_text(sly) == (
        "Why.\n\n````\necho sk-abcdef0123456789 \\u{202E}; rm -rf ~\n```\n\n````\n\n"
        "It would run in /p. Bounds.\n\nThe model calls it: Build it"
    )
    paths = replace(EDIT, effect=Effect("edit", ("/p/a\u200b", "/p/b\nc")))
    assert effect_text(paths) == "Why.\n\n```\n/p/a\\u{200B}\n/p/b\\u{A}c\n```"


def test_the_exact_effect_is_told() -> None:
    assert raw_input(EDIT) == {"reason": "Why.", "effect": "edit", "paths": ["/p/a"]}
    assert raw_input(COMMAND) == {"reason": "Why.", "effect": "execute", "command": "make"}
    fetch = Question("c", "fetch", Effect("fetch", url="https://example.org/"), Card("Fetch", "fetch"), "Why.")
    assert raw_input(fetch) == {"reason": "Why.", "effect": "fetch", "url": "https://example.org/"}


class OneAnswer(Peer):
    """A client that gives one answer; what it was asked is kept."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any, **_: Any) -> dict[str, Any]:
        self.asked.append((method, params))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_the_question_is_about_the_call_as_the_client_knows_it() -> None:
    peer = OneAnswer(selected("allow-once"))
    outcome = await Permissions(peer, "s", lambda call_id: f"{call_id}#2").ask(EDIT, CancelToken())
    call = {
        "toolCallId": "c#2",
        "title": "Edit a",
        "kind": "edit",
        "locations": [{"path": "/p/a", "line": 3}],
        "content": [
            {"type": "diff", "path": "/p/a", "oldText": "x", "newText": "y"},
            {"type": "content", "content": {"type": "text", "text": "Why.\n\n```\n/p/a\n```"}},
        ],
        "name": "edit",
        "rawInput": raw_input(EDIT),
    }
    expected = {"sessionId": "s", "toolCall": call, "options": options(EDIT)}
    assert (outcome, peer.asked) == ("allowed-once", [("session/request_permission", expected)])


@pytest.mark.parametrize("failure", [RemoteError(-32601, "Method not found"), RemoteError(0, "x"), ConnectionClosed()])
async def test_a_client_that_cannot_be_asked_is_no_yes(failure: Exception) -> None:
    assert await Permissions(OneAnswer(failure), "s", str).ask(EDIT, CancelToken()) == "unavailable"


async def test_a_cancelled_turn_ends_the_wait() -> None:
    with pytest.raises(Cancelled):
        await Permissions(OneAnswer(Cancelled(BY_USER)), "s", str).ask(EDIT, CancelToken())


async def test_a_session_s_yes_that_was_not_offered_is_none() -> None:
    assert await Permissions(OneAnswer(selected("allow-session")), "s", str).ask(COMMAND, CancelToken()) == "rejected"
