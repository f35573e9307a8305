"""How a run is stopped and how it ends (docs/headless.md, H-7 and table X)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.app.headless.options import RunOptions
from acp_server.app.headless.outcome import outcome_of
from acp_server.app.headless.run import Run
from acp_server.base.cancel import BY_USER
from acp_server.llm.explain import CallPlace

PLACE = CallPlace("scripted", "demo")
ABORTED = TurnEnd("aborted", cause=BY_USER)


def made() -> Run:
    nothing = cast("Any", None)
    return Run(nothing, nothing, RunOptions("task", "/p"))


def test_the_first_reason_of_an_end_counts() -> None:
    interrupted = made()
    interrupted.stop(2)
    interrupted.stop(None)
    assert (interrupted.signal, interrupted.timed_out) == (2, False)
    late = made()
    late.stop(None)
    assert (late.signal, late.timed_out) == (None, True)


@pytest.mark.parametrize(
    ("end", "signal", "timed_out", "code"),
    [
        (COMPLETED, 2, False, 0),
        (ABORTED, 2, False, 130),
        (ABORTED, None, True, 4),
        (ABORTED, None, False, 5),
        (TurnEnd("blocked", words="Not now."), None, False, 3),
    ],
)
def test_an_end_has_its_exit_code(end: TurnEnd, signal: int | None, timed_out: bool, code: int) -> None:
    assert outcome_of(end, PLACE, signal=signal, timed_out=timed_out).exit_code == code
