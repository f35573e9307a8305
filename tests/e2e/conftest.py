"""The stage of every end-to-end test; what holds at all times is judged when the test has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    try:
        yield made
        wrong = made.judge()
    finally:
        made.close()
    assert wrong == []
