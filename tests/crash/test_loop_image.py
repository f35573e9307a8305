"""Power cuts under a real file system; `python -m tests.crash power` makes more of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.crash.loop_image import cut_power, why_not

CUTS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("loop")
    reason = why_not(made)
    if reason is not None:
        pytest.skip(reason)
    return made


def test_no_power_cut_takes_what_was_promised(folder: Path) -> None:
    random = Random(5)
    assert [cut_power(folder, random) for _ in range(CUTS)] == [None] * CUTS


def test_a_disk_that_does_not_sync_is_caught(folder: Path) -> None:
    random = Random(6)
    assert any(cut_power(folder, random, synced=False) is not None for _ in range(CUTS))
