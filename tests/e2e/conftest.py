"""The stage of every end-to-end test; what holds at all times is judged when the test has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the test that needs the slow plugin to a run that loads it."""
    loaded = any(config.pluginmanager.hasplugin(name) for name in ("pytest_lsp", "pytest-lsp"))
    return True if collection_path.name == "test_pytest_lsp.py" and not loaded else None


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    try:
        yield made
        wrong = made.judge()
    finally:
        made.close()
    assert wrong == []
