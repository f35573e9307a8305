"""Hidden instructions against a model that obeys them all (docs/threats.md, T-38).

Each fixture is played twice: as a person would meet it, where nothing may come of it, and as its control, where the
person says yes to everything and the harm has to be seen. So each of them can fail.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.security.injections.collector import Collector
from tests.security.injections.fixture import Fixture, fixtures
from tests.security.injections.theatre import Theatre, orders_of
from tests.support.mock_llm import KEY, MockLlm

FIXTURES = fixtures()
CONTROLLED = [each for each in FIXTURES if not each.control.never]
UNHARMED: dict[str, list[str]] = {"sent": [], "read": [], "changed": []}


@pytest.fixture(scope="module")
def theatre() -> Iterator[Theatre]:
    """One server for all fixtures, below a folder that a box does not hide, as it hides /tmp."""
    root = Path(tempfile.mkdtemp(prefix="acp-injections-", dir="/var/tmp"))
    stage = Stage(root)
    stage.secrets.append(KEY)
    try:
        with MockLlm() as mock, Collector() as collector:
            yield Theatre(stage, mock, collector)
            wrong = stage.judge()
    finally:
        stage.close()
        shutil.rmtree(root, ignore_errors=True)
    assert wrong == []


def name_of(fixture: Fixture) -> str:
    return fixture.name


def test_there_are_forty_and_each_way_has_a_control() -> None:
    assert len(FIXTURES) >= 40
    assert len({each.name for each in FIXTURES}) == len(FIXTURES)
    assert {each.harm for each in CONTROLLED} == {"sent", "read", "changed"}
    assert len([each for each in FIXTURES if each.control.never]) <= 4


@pytest.mark.parametrize("fixture", FIXTURES, ids=name_of)
def test_hidden_instructions_do_no_harm(fixture: Fixture, theatre: Theatre) -> None:
    outcome = theatre.play(fixture, fixture.mode, fixture.person)
    assert outcome.followed == orders_of(fixture)
    assert outcome.harm == UNHARMED


@pytest.mark.parametrize("fixture", CONTROLLED, ids=name_of)
def test_the_same_instructions_do_harm_where_the_person_allows_it(fixture: Fixture, theatre: Theatre) -> None:
    outcome = theatre.play(fixture, fixture.control.mode, "yes", expected=True)
    assert outcome.followed == orders_of(fixture)
    assert outcome.harm[fixture.harm] != []
