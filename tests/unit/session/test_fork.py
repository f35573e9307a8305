"""Where a log may be cut (C13)."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.session.fork import fork_boundary, fork_header
from acp_server.session.header import SessionHeader
from acp_server.session.log import MemoryLog
from tests.support.story import Story


def test_between_turns_a_log_may_be_cut() -> None:
    story = Story().whole().whole("m2")
    ends = [seq for seq, kind in enumerate(story.types) if kind == "turn/end"]
    assert [fork_boundary(story.session.events, seq) for seq in ends] == [seq + 1 for seq in ends]
    assert fork_boundary(story.session.events) == story.session.seq
    assert fork_boundary(story.session.events, 0) == 1
    assert fork_boundary(MemoryLog()) == 0


@pytest.mark.parametrize("boundary", [-1, 99, 2**60, True, 1.0, "1"])
def test_a_boundary_is_an_event_that_exists(boundary: Any) -> None:
    with pytest.raises(ServerError) as caught:
        fork_boundary(Story().whole().session.events, boundary)
    assert caught.value.code == "INVALID_BOUNDARY"


def test_no_event_inside_a_turn_is_a_boundary() -> None:
    story = Story().whole()
    start, end = story.types.index("turn/start"), story.types.index("turn/end")
    for seq in range(start, end):
        with pytest.raises(ServerError) as caught:
            fork_boundary(story.session.events, seq)
        assert caught.value.code == "OPEN_TURN"


def test_an_open_turn_cannot_be_inherited_whole() -> None:
    with pytest.raises(ServerError) as caught:
        fork_boundary(Story().begin().session.events)
    assert (caught.value.code, caught.value.message) == (
        "OPEN_TURN",
        "Turn 1 is still open there; fork before it began or after it ended.",
    )


def test_the_child_names_its_parent() -> None:
    parent = SessionHeader(SessionId("p"), 1, "/w", SessionId("g"), 3, "subagent", 2, "minimal")
    assert fork_header(parent, SessionId("c"), 9, 5) == SessionHeader(
        SessionId("c"), 9, "/w", SessionId("p"), 5, agent_preset="minimal"
    )
