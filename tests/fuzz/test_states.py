"""Sequences of calls against a model of the protocol. FUZZ_STATES says how many, FUZZ_SEED which."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.states import Server, play_states
from tests.support.trace import Obj

COUNT = int(os.environ.get("FUZZ_STATES", "2000"))
SEED = int(os.environ.get("FUZZ_SEED", "20261203"))
HANG_SECONDS = 30.0


def test_an_answer_that_the_model_does_not_expect_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Server.ask

    def lying(server: Server, method: str, params: Obj) -> Obj:
        answer = asked(server, method, params)
        return {"result": {"more": 1}} if method == "session/close" else answer

    monkeypatch.setattr(Server, "ask", lying)
    with pytest.raises(AssertionError):
        play_states(100, SEED)


def test_the_server_does_what_the_model_says() -> None:
    played, longest = play_states(COUNT, SEED)
    assert played >= COUNT
    assert longest < HANG_SECONDS
