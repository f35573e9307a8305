"""Presets as the log keeps them, and what they may widen (docs/presets.md, K-1 to K-9)."""

from __future__ import annotations

from functools import partial
from typing import get_args

import pytest

from acp_server.agent.modes import Mode
from acp_server.agent.presets import (
    MINIMAL,
    PRESET_EVENT,
    PRESETS,
    STANDARD,
    Offer,
    Preset,
    mode_with,
    offered,
    preset_data,
    preset_of,
    wider_mode,
)
from acp_server.agent.system_prompt import SECTIONS, render_system
from acp_server.base.ids import SessionId
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session

OWN = Preset(
    "own", "Own", "mine", frozenset({"read", "mcp__x__*"}), frozenset({"identity"}), "Be brief.", "a/b", "plan"
)


def session() -> Session:
    return Session(SessionHeader(SessionId("s"), 0, "/w"), now=lambda: 0)


def test_a_shipped_preset_is_kept_by_its_id_alone() -> None:
    assert [preset_data(preset) for preset in PRESETS] == [{"agentPreset": "standard"}, {"agentPreset": "minimal"}]


def test_the_log_keeps_what_an_agent_is_made_of_but_for_model_and_mode() -> None:
    log = session()
    log.append(PRESET_EVENT, preset_data(OWN))
    assert preset_of(log.events) == Preset("own", "Own", "mine", OWN.tools, OWN.sections, "Be brief.")


@pytest.mark.parametrize(
    ("data", "preset"),
    [
        ({"agentPreset": "minimal", "name": "x", "tools": []}, MINIMAL),
        ({"agentPreset": "gone"}, STANDARD),
        ({"agentPreset": "bare", "name": "Bare"}, Preset("bare", "Bare", "")),
    ],
)
def test_what_a_log_says_counts(data: dict[str, object], preset: Preset) -> None:
    log = session()
    log.append(PRESET_EVENT, data)  # type: ignore[arg-type]  # JSON values all of them
    assert preset_of(log.events) == preset


def test_a_choice_counts_until_the_first_turn() -> None:
    log = session()
    log.append(PRESET_EVENT, preset_data(MINIMAL))
    log.append("turn/start", {"turn": 1})
    log.append(PRESET_EVENT, preset_data(OWN))
    assert preset_of(log.events) == MINIMAL


def test_tools_are_offered_by_name_and_by_how_they_begin() -> None:
    names = ("read", "reader", "mcp__x__", "mcp__x__y", "mcp__y__x")
    assert [OWN.offers(name) for name in names] == [True, False, True, True, False]
    assert [STANDARD.offers(name) for name in names] == [True] * 5


def test_the_prompt_stands_behind_the_parts_that_a_preset_has() -> None:
    assert render_system(OWN.sections_of(SECTIONS), "/w").endswith("what you have not.\n\nBe brief.")
    assert "Project directory" not in render_system(OWN.sections_of(SECTIONS), "/w")


def _given(offer: Offer, _cwd: str | None) -> Offer:
    return offer


def test_of_one_name_the_first_counts_and_shipped_ones_go_before() -> None:
    first, second = Preset("a", "1", ""), Preset("a", "2", "")
    offers = (Offer((first, Preset("minimal", "x", ""))), Offer((second, OWN), (("bad", "is bad"),), ("new",)))
    offer = offered([partial(_given, one) for one in offers], "/w")
    assert offer == Offer((STANDARD, MINIMAL, first, OWN), (("bad", "is bad"),), ("new",))
    assert (offer.find("a"), offer.find("bad"), offer.why_not("bad")) == (first, None, "is bad")
    assert "trust" in offer.why_not("new")
    assert offer.why_not("none") == "There is no preset 'none'; there are standard, minimal, a, own."


@pytest.mark.parametrize("current", get_args(Mode))
@pytest.mark.parametrize("wanted", get_args(Mode))
def test_a_projects_preset_never_takes_a_wider_mode(current: Mode, wanted: Mode) -> None:
    order = ("plan", "ask", "auto", "full")
    wider = order.index(wanted) > order.index(current)
    mine, project = Preset("p", "P", "", mode=wanted), Preset("p", "P", "", mode=wanted, project=True)
    assert (mode_with(mine, current), wider_mode(mine, current)) == (wanted, False)
    assert (mode_with(project, current), wider_mode(project, current)) == (current if wider else wanted, wider)
