"""One server for all tables of a module: a connection has to survive every line that they send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.stage import Stage
from tests.support.client import Client


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    try:
        yield made
        wrong = made.judge()
    finally:
        made.close()
    assert wrong == []


@pytest.fixture(scope="module")
def client(stage: Stage) -> Client:
    """Return the client of a server that was greeted."""
    made = stage.client()
    made.initialize()
    return made


@pytest.fixture(scope="module")
def session(client: Client, stage: Stage) -> str:
    return client.new_session(stage.project)
