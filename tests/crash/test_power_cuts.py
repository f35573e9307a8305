from __future__ import annotations

from collections import Counter

import pytest

from acp_server.persistence.batches import Encoding
from tests.crash.campaign import campaign
from tests.crash.mutants import (
    MUTANTS,
    beside_story,
    beside_workload,
    failed_sync_story,
    failed_write_story,
    foreign_index_story,
    forked_story,
    killed_story,
    left_name_story,
    plain_story,
    same_id_story,
    torn_story,
    two_writers_story,
    wrong,
)

STATES: dict[Encoding, int] = {"zstd": 5_000, "none": 3_000}
STORIES = (
    beside_story,
    failed_sync_story,
    failed_write_story,
    foreign_index_story,
    forked_story,
    killed_story,
    left_name_story,
    plain_story,
    same_id_story,
    torn_story,
    two_writers_story,
)


@pytest.mark.parametrize("encoding", STATES)
def test_no_power_cut_breaks_a_promise(encoding: Encoding) -> None:
    assert campaign(1, STATES[encoding], encoding) == (STATES[encoding], Counter())


@pytest.mark.parametrize("encoding", STATES)
def test_no_power_cut_parts_a_log_from_what_lies_beside_it(encoding: Encoding) -> None:
    assert campaign(4, 2_000, encoding, beside_workload) == (2_000, Counter())


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_no_power_cut_breaks_a_promise_in_a_story_of_its_own(story: object) -> None:
    assert callable(story)
    assert campaign(2, 300, "zstd", story) == (300, Counter())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_log_is_caught(name: str) -> None:
    story, patches = MUTANTS[name]
    with wrong(patches):
        seen, broken = campaign(3, 5_000, "zstd", story, stop=True)
    assert broken, f"{name} lived through {seen} states"
