"""The canonical form of a request's header and its equality (C15)."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import freeze
from acp_server.messages.request import CallConfig, ToolSchema
from acp_server.session.history import EpochHeader
from tests.support.story import CONFIG, Story

READ = ToolSchema("read", "Reads.", {"type": "object", "required": ["path"]})
EDIT = ToolSchema("edit", "Edits.", {"type": "object"})
FULL = EpochHeader(
    CallConfig("p", "m", "high", 0.5, 100, ("stop",)), "be brief", (READ, EDIT), frozenset({"maxTokens"})
)


def test_what_is_empty_is_left_out() -> None:
    least: dict[str, Any] = {"config": {"provider": "scripted", "model": "demo"}}
    assert EpochHeader(CONFIG, "").to_json() == least
    padded: Any = {**least, "system": "", "tools": [], "adapterDefaults": {}}
    assert EpochHeader.from_json(padded) == EpochHeader(CONFIG)
    assert EpochHeader.from_json(padded).to_json() == least


def test_it_comes_back_as_it_was() -> None:
    data: Any = freeze(FULL.to_json())
    assert list(data) == ["config", "adapterDefaults", "system", "tools"]
    assert list(data["config"]) == ["provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop"]
    again = EpochHeader.from_json(data)
    assert again == FULL
    assert (hash(again), again.config, again.tools[1]) == (hash(FULL), FULL.config, EDIT)


@pytest.mark.parametrize(
    "other",
    [
        EpochHeader(CallConfig("p", "m", "low", 0.5, 100, ("stop",)), FULL.system, FULL.tools, FULL.adapter_defaults),
        EpochHeader(FULL.config, "be long", FULL.tools, FULL.adapter_defaults),
        EpochHeader(FULL.config, FULL.system, (EDIT, READ), FULL.adapter_defaults),
        EpochHeader(FULL.config, FULL.system, FULL.tools),
        EpochHeader(
            FULL.config,
            FULL.system,
            (ToolSchema("read", "Reads.", {"required": ["path"], "type": "object"}), EDIT),
            FULL.adapter_defaults,
        ),
        "no header",
    ],
    ids=["config", "system", "order of tools", "defaults", "order of keys", "another type"],
)
def test_whatever_changes_a_request_makes_it_another(other: object) -> None:
    assert other != FULL


@pytest.mark.parametrize(
    "change",
    [{"config": []}, {"config": {"provider": "p"}}, {"system": 1}, {"tools": "x"}, {"tools": [{"name": "n"}]}],
)
def test_a_malformed_header_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        EpochHeader.from_json({**FULL.to_json(), **change})
    assert caught.value.code == "INVALID_EVENT_DATA"


def test_the_latest_header_and_context_count() -> None:
    story = Story()
    assert (story.session.request_header(), story.session.request_context()) == (None, None)
    story.begin()
    first = story.session.request_header()
    assert first == EpochHeader(CONFIG, "be brief")
    assert story.session.request_header() is first
    story.ask("be long", reason="change")
    assert story.session.request_header() == EpochHeader(CONFIG, "be long")
    story.session.append("request/context", {"provider": "q", "model": "n", "contextWindow": 9})
    assert story.session.request_context() == {"provider": "q", "model": "n", "contextWindow": 9}
