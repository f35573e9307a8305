from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.permissions import Permissions, options, outcome_of, raw_input
from acp_server.agent.consent.approvals import Outcome, Question
from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError
from acp_server.jsonrpc.peer import Peer
from acp_server.tools.tool import Card, Diff, Effect, Location

ONCE = {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"}
NO = {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"}
CARD = Card("Edit a", "edit", (Location("/p/a", 3),), (Diff("/p/a", "x", "y"),))
EDIT = Question("c", "edit", Effect("edit", ("/p/a",)), CARD, "Why.", "allow edit /p/a (session)")
COMMAND = Question("c", "bash", Effect("execute", command="make"), Card("make", "execute"), "Why.")


def selected(option: object) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option}}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (selected("allow-once"), "allowed-once"),
        (selected("allow-session"), "allowed-session"),
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
    assert outcome_of(result, rememberable=True) == outcome
    expected = "rejected" if outcome == "allowed-session" else outcome
    assert outcome_of(result, rememberable=False) == expected


def test_a_yes_comes_first_and_one_that_is_kept_says_what_for() -> None:
    kept = {"optionId": "allow-session", "name": f"Allow for this session: {EDIT.kept}", "kind": "allow_always"}
    assert (options(EDIT), options(COMMAND)) == ([ONCE, kept, NO], [ONCE, NO])


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
        "content": [{"type": "diff", "path": "/p/a", "oldText": "x", "newText": "y"}],
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
