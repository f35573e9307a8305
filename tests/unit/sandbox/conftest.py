from __future__ import annotations

from pathlib import Path

import pytest

from acp_server.sandbox.facts import Host


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of the test's own, by its canonical name."""
    return tmp_path.resolve()


@pytest.fixture
def host(place: Path) -> Host:
    home, state = place / "home", place / "state"
    home.mkdir()
    state.mkdir()
    return Host(home=str(home), user="ada", state=str(state), own=(str(state),))


@pytest.fixture
def workspace(place: Path) -> Path:
    found = place / "ws"
    found.mkdir()
    return found
