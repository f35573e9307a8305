"""docs/event-catalog.md is as the code says: run `python -m tests.support.generated` otherwise."""

from __future__ import annotations

from random import Random

import pytest

from tests.support import event_catalog
from tests.support.launch import REPOSITORY
from tests.support.logs import random_events, whole_turn


def test_the_event_catalogue_is_that_of_the_code() -> None:
    assert (REPOSITORY / "docs" / "event-catalog.md").read_text("utf-8") == event_catalog.catalog_text()


def test_the_catalogue_finds_writers_by_text_constant_and_import() -> None:
    written, ignorable = event_catalog.writers()
    assert written["turn/end"] == ["agent/turn.py", "session/repair.py"]
    assert written["session/end-seed"] == ["session/session.py"]
    assert "acp/option_routes.py" in written["permission/preset"]
    assert ignorable == {
        "sandbox/network",
        "compaction/auto",
        "file/change",
        "model/selected",
        "approval/rule",
        "undo/start",
        "undo/end",
        "question/asked",
        "subagent/spent",
        "question/answered",
    }


def test_the_catalogue_names_every_field_of_a_log() -> None:
    events = [*random_events(Random(5), 80), *whole_turn(80, 1, 5)]
    told = {kind: {name.removesuffix("?") for name in event_catalog.fields_of(kind)} for kind in event_catalog.TYPES}
    assert [(event.type, extra) for event in events if (extra := event.data.keys() - told[event.type])] == []


def test_a_type_that_nobody_tells_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_catalog, "TYPES", event_catalog.TYPES | {"a/new-type"})
    with pytest.raises(ValueError, match="a/new-type"):
        event_catalog.catalog_text()
