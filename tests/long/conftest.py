"""Nothing here is collected unless it is named: a run of everything must need no network and no minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import stage

__all__ = ["stage"]
HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave what is here to runs whose arguments name it."""
    named = [Path(str(word).partition("::")[0]).resolve() for word in config.args]
    return None if any(place == HERE or HERE in place.parents for place in named) else True
