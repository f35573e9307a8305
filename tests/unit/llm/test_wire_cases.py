from __future__ import annotations

import pytest

from tests.cases.decode import PROTOCOLS, Case, cases, judge

PLAYED = [case for case in cases() if case["protocol"] in PROTOCOLS]


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case["id"])
def test_a_wire_case_gives_what_it_says_however_it_is_cut(case: Case) -> None:
    assert judge(case) == []
