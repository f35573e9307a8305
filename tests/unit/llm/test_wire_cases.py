from __future__ import annotations

import pytest

from tests.cases.decode import Case, cases, judge


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_a_wire_case_gives_what_it_says_however_it_is_cut(case: Case) -> None:
    assert judge(case) == []


def test_no_wire_case_is_left_out() -> None:
    assert len(cases()) == 185
