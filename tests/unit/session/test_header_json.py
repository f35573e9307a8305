"""The header's table, and what is said of other versions."""

from __future__ import annotations

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.session.header import SessionHeader
from acp_server.session.header_json import HeaderFormatError, header_from_json, header_to_json

LEAST = {"type": "session", "version": 1, "id": "a", "createdAt": 5}
FULL = SessionHeader(SessionId("a"), 5, "/w", SessionId("p"), 7, "subagent", 2, "standard")


def test_keys_stand_in_one_order() -> None:
    assert list(header_to_json(FULL).items()) == [
        ("type", "session"),
        ("version", 1),
        ("id", "a"),
        ("createdAt", 5),
        ("cwd", "/w"),
        ("parentSession", "p"),
        ("seedLength", 7),
        ("origin", "subagent"),
        ("delegationDepth", 2),
        ("agentPreset", "standard"),
    ]


def test_it_comes_back() -> None:
    assert header_from_json(header_to_json(FULL)) == FULL
    assert header_to_json(SessionHeader(SessionId("a"), 5)) == LEAST
    assert header_from_json(LEAST) == SessionHeader(SessionId("a"), 5)


def test_a_seed_of_no_events_is_not_the_same_as_none() -> None:
    assert header_from_json({**LEAST, "seedLength": 0}).seed_length == 0


def test_unknown_fields_are_tolerated() -> None:
    assert header_from_json({**LEAST, "later": {"x": 1}}) == SessionHeader(SessionId("a"), 5)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": "sessions"}, "type"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"id": ""}, "id"),
        ({"id": 3}, "id"),
        ({"createdAt": -1}, "createdAt"),
        ({"createdAt": 1.0}, "createdAt"),
        ({"cwd": "work"}, "cwd"),
        ({"cwd": None}, "cwd"),
        ({"parentSession": 1}, "parentSession"),
        ({"seedLength": -1}, "seedLength"),
        ({"origin": "fork"}, "origin"),
        ({"origin": None}, "origin"),
        ({"delegationDepth": True}, "delegationDepth"),
        ({"agentPreset": ""}, "agentPreset"),
        ({"sandboxMode": "full"}, "sandboxMode"),
        ({"approvalPolicy": "ask"}, "approvalPolicy"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(change: dict[str, object], field: str) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        header_from_json({**LEAST, **change})
    assert (caught.value.code, caught.value.field) == ("INVALID_SESSION_HEADER", field)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(HeaderFormatError):
        header_from_json("session")


@pytest.mark.parametrize(
    ("version", "writer"),
    [(2, "a newer server: update this one to open it"), (0, "an older server")],
)
def test_another_version_says_who_wrote_it(version: int, writer: str) -> None:
    with pytest.raises(ServerError) as caught:
        header_from_json({**LEAST, "version": version})
    assert caught.value.code == "SESSION_FORMAT_UNSUPPORTED"
    assert caught.value.message == (
        f"The session has format {version} and was written by {writer}; this server reads format 1."
    )
