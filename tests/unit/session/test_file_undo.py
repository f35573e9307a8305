from __future__ import annotations

import pytest

from acp_server.session.file_changes import FileChange, FileState
from acp_server.session.file_undo import (
    CHANGED,
    CHANGED_BETWEEN,
    NOT_KEPT,
    Conflict,
    FilePlan,
    Present,
    Step,
    plan_files,
)

NONE = FileState(None)
A, B, C, MINE = (FileState(digest, 1, f"kept-{digest}") for digest in ("a", "b", "c", "mine"))
LOST = FileState("lost", 1)


def changes(*pairs: tuple[FileState, FileState]) -> list[FileChange]:
    return [FileChange(seq, "/p/x", before, after) for seq, (before, after) in enumerate(pairs)]


@pytest.mark.parametrize(
    ("made", "now", "to", "verb"),
    [
        ([(A, B)], B, A, "restore"),
        ([(A, B), (B, C)], C, A, "restore"),
        ([(NONE, A), (A, B)], B, NONE, "delete"),
        ([(A, NONE)], NONE, A, "create"),
        ([(A, B), (B, A), (B, C)], C, A, "restore"),
        ([(A, B), (B, C)], B, A, "restore"),
    ],
    ids=["edited", "twice", "made", "deleted", "one never happened", "the last never happened"],
)
def test_a_file_goes_back_to_before_the_first_change(
    made: list[tuple[FileState, FileState]], now: FileState, to: FileState, verb: str
) -> None:
    step = Step("/p/x", now, to)
    assert plan_files(changes(*made), {"/p/x": Present(now)}) == FilePlan((step,))
    assert step.verb == verb


@pytest.mark.parametrize(
    ("made", "now", "reason"),
    [
        ([(A, B)], MINE, CHANGED),
        ([(A, B)], NONE, CHANGED),
        ([(NONE, B)], MINE, CHANGED),
        ([(A, B), (MINE, C)], C, CHANGED_BETWEEN),
        ([(LOST, B)], B, NOT_KEPT),
    ],
    ids=["changed", "deleted", "made anew", "between", "not kept"],
)
def test_what_would_lose_something_is_a_conflict(
    made: list[tuple[FileState, FileState]], now: FileState, reason: str
) -> None:
    plan = FilePlan((), (Conflict("/p/x", reason),))
    assert plan_files(changes(*made), {"/p/x": Present(now)}) == plan


def test_a_file_that_is_back_already_is_left_alone() -> None:
    assert plan_files(changes((A, B), (MINE, C)), {"/p/x": Present(A)}) == FilePlan()
    assert plan_files(changes((NONE, B)), {"/p/x": Present(NONE)}) == FilePlan()


def test_a_problem_counts_even_where_nothing_would_change() -> None:
    plan = FilePlan((), (Conflict("/p/x", "no"),))
    assert plan_files(changes((NONE, B)), {"/p/x": Present(NONE, "no")}) == plan
