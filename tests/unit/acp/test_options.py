from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.options import config_options, effort_values, fitting, with_effort, with_model
from acp_server.base.values import replace
from acp_server.jsonrpc.errors import RpcError
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig

BIG = ModelInfo("p", "big", "Big", 1_000_000, efforts=("low", "high", "max"), default_effort="high")
OLD = ModelInfo("p", "old", "Old", 200_000, efforts=("off", "low"))
PLAIN = ModelInfo("q", "org/plain", "Plain")
OFFERED = (BIG, OLD, PLAIN)
AT_BIG = CallConfig("p", "big", "max")

MODELS = [
    {"value": "p/big", "name": "Big", "description": "p, 1M tokens"},
    {"value": "p/old", "name": "Old", "description": "p, 200k tokens"},
    {"value": "q/org/plain", "name": "Plain", "description": "q"},
]


def current(config: CallConfig, info: ModelInfo) -> dict[str, Any]:
    return {option["id"]: option["currentValue"] for option in config_options(config, info, OFFERED)}


def test_the_list_is_whole() -> None:
    assert config_options(AT_BIG, BIG, OFFERED) == [
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "p/big",
            "options": MODELS,
        },
        {
            "id": "effort",
            "name": "Reasoning effort",
            "description": "How long the model thinks before it answers.",
            "category": "thought_level",
            "type": "select",
            "currentValue": "max",
            "options": [
                {"value": "low", "name": "Low"},
                {"value": "high", "name": "High"},
                {"value": "max", "name": "Maximum"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("config", "info", "values"),
    [
        (CallConfig("p", "big"), BIG, {"model": "p/big", "effort": "high"}),
        (CallConfig("p", "big", "gone"), BIG, {"model": "p/big", "effort": "high"}),
        (CallConfig("p", "old"), OLD, {"model": "p/old", "effort": "default"}),
        (CallConfig("p", "old", "low"), OLD, {"model": "p/old", "effort": "low"}),
        (CallConfig("q", "org/plain"), PLAIN, {"model": "q/org/plain"}),
    ],
)
def test_what_is_current_is_always_a_value(config: CallConfig, info: ModelInfo, values: dict[str, str]) -> None:
    assert current(config, info) == values
    for option in config_options(config, info, OFFERED):
        assert option["currentValue"] in [value["value"] for value in option["options"]]


def test_a_model_that_is_not_offered_stands_first_while_it_is_used() -> None:
    mine = ModelInfo("p", "mine", "mine")
    (option,) = config_options(CallConfig("p", "mine"), mine, OFFERED)
    assert option["options"] == [{"value": "p/mine", "name": "mine", "description": "p"}, *MODELS]
    assert with_model(CallConfig("p", "mine"), "p/mine", OFFERED) == CallConfig("p", "mine")


@pytest.mark.parametrize(
    ("value", "config"),
    [
        ("p/big", AT_BIG),
        ("p/old", CallConfig("p", "old")),
        ("q/org/plain", CallConfig("q", "org/plain")),
    ],
)
def test_an_effort_goes_along_where_it_is_offered(value: str, config: CallConfig) -> None:
    assert with_model(AT_BIG, value, OFFERED) == config
    assert with_model(replace(AT_BIG, reasoning_effort="low"), "p/old", OFFERED) == CallConfig("p", "old", "low")


@pytest.mark.parametrize("value", ["p/none", "big", "", None, 5, True, ["p/big"]])
def test_what_is_no_model_is_refused(value: object) -> None:
    with pytest.raises(RpcError) as caught:
        with_model(AT_BIG, value, OFFERED)
    assert caught.value.rpc_code == -32602


@pytest.mark.parametrize(
    ("info", "value", "effort"), [(BIG, "low", "low"), (OLD, "default", None), (OLD, "off", "off")]
)
def test_an_effort_is_chosen(info: ModelInfo, value: str, effort: str | None) -> None:
    config = CallConfig(info.provider, info.id, "low")
    assert with_effort(config, value, info) == replace(config, reasoning_effort=effort)


@pytest.mark.parametrize(("info", "value"), [(BIG, "default"), (BIG, "off"), (PLAIN, "low"), (BIG, None), (BIG, True)])
def test_what_is_no_effort_of_the_model_is_refused(info: ModelInfo, value: object) -> None:
    with pytest.raises(RpcError) as caught:
        with_effort(CallConfig(info.provider, info.id), value, info)
    assert caught.value.rpc_code == -32602


def test_an_effort_that_is_not_offered_any_more_is_let_go() -> None:
    assert fitting(AT_BIG, BIG) == AT_BIG
    assert fitting(AT_BIG, OLD).reasoning_effort is None
    assert effort_values(PLAIN) == ()
