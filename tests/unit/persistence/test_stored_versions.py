"""Logs that earlier versions wrote are read as they were, whole (docs/log-format.md, clause H-4).

`tests/data` holds a store for each version of the format, written by `tests.support.sample_store` when it was made.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acp_server.base.ids import SessionId
from acp_server.persistence.opening import Store
from acp_server.session.events import REQUIRED_TYPES
from acp_server.session.shapes import TABLE
from tests.support.logs import event
from tests.support.sample_store import DATA, NAMES, READ, VERSION, read_store, write_store
from tests.support.stores import store

VERSIONS = sorted(path.name for path in DATA.glob("log-v*"))
WHOLE = ("talk", "raw", "child", "every-type")
NOT_TOLD = {"session/end-seed", "session/title-llm-request", "approval/policy"}
"""Types without fields that a log has to tell."""


def copied(version: str, folder: Path) -> Path:
    return Path(shutil.copytree(DATA / version / "sessions", folder / "sessions"))


def test_there_is_a_store_of_this_version() -> None:
    assert f"log-v{VERSION}" in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_is_read_as_it_was(version: str, tmp_path: Path) -> None:
    known = json.loads((DATA / version / READ).read_text("utf-8"))
    assert read_store(copied(version, tmp_path)) == known


@pytest.mark.parametrize("version", VERSIONS)
def test_whole_logs_and_their_attachments_are_sound(version: str, tmp_path: Path) -> None:
    where = store(copied(version, tmp_path))
    assert [where.verify(SessionId(name)).sound for name in NAMES] == [
        name in WHOLE or name == "broken-off" for name in NAMES
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "damaged"])
def test_a_session_of_an_earlier_version_goes_on(version: str, name: str, tmp_path: Path) -> None:
    where: Store = store(copied(version, tmp_path))
    files, loaded = where.open(SessionId(name))
    later = event(len(loaded.log), "session/title", {"title": "later", "messageSeqs": [], "source": {"kind": "user"}})
    files.commit([later])
    files.release()
    assert list(where.inspect(SessionId(name)).log.since(later.seq)) == [later]


def test_the_store_of_this_version_tells_every_type(tmp_path: Path) -> None:
    """A type that is added is added to `sample_store.EVERY`, so that the store of the next version has it."""
    write_store(tmp_path)
    told = {event["type"] for found in read_store(tmp_path).values() for event in found["events"]}
    assert {*REQUIRED_TYPES, *TABLE} - told == NOT_TOLD
