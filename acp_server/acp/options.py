"""Config options of a session: the model and its reasoning effort (docs/protocol.md, clauses M-04 to M-14).

Owns their ids, their values, and what a change of one does to the other. Which models there are is told by `Access`;
what is chosen is the agent's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig

MODEL: Final = "model"
EFFORT: Final = "effort"
"""Ids, which clients keep as defaults: they never change."""
OWN_EFFORT: Final = "default"
"""The value that leaves the effort to the provider, for a model whose own one is not known."""
_EFFORT_NAMES: Final[Mapping[str, str]] = {
    OWN_EFFORT: "Default",
    "off": "Off",
    "on": "On",
    "minimal": "Minimal",
    "low": "Low",
    "medium": "Medium",
    "high": "High",
    "xhigh": "Very high",
    "max": "Maximum",
}


def config_options(config: CallConfig, info: ModelInfo, offered: Sequence[ModelInfo]) -> list[dict[str, Any]]:
    """Return the whole list for a session whose requests go there; `info` is what is known about its model."""
    models = {model_value(model): model for model in offered}
    current = f"{config.provider}/{config.model}"
    if current not in models:
        models = {current: info, **models}
    options = [
        {
            "id": MODEL,
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": current,
            "options": [_model_option(value, model) for value, model in models.items()],
        }
    ]
    efforts = effort_values(info)
    if efforts:
        options.append(
            {
                "id": EFFORT,
                "name": "Reasoning effort",
                "description": "How long the model thinks before it answers.",
                "category": "thought_level",
                "type": "select",
                "currentValue": _current_effort(config, info),
                "options": [{"value": value, "name": _EFFORT_NAMES.get(value, value)} for value in efforts],
            }
        )
    return options


def with_model(config: CallConfig, value: object, offered: Sequence[ModelInfo], field: str = "value") -> CallConfig:
    """Return the config with that model, and its effort where the model offers it; raise RpcError -32602."""
    for model in offered:
        if model_value(model) == value:
            effort = config.reasoning_effort if config.reasoning_effort in model.efforts else None
            return replace(config, provider=model.provider, model=model.id, reasoning_effort=effort)
    if value == f"{config.provider}/{config.model}":
        return config
    raise invalid(field, f"is {value!r}, which is no model that can be used")


def with_effort(config: CallConfig, value: object, info: ModelInfo) -> CallConfig:
    """Return the config with that effort; raise RpcError -32602."""
    if value not in effort_values(info):
        raise invalid("value", f"is {value!r}; {info.id} offers: {', '.join(effort_values(info))}")
    return replace(config, reasoning_effort=None if value == OWN_EFFORT else value)


def fitting(config: CallConfig, info: ModelInfo) -> CallConfig:
    """Return the config without an effort that the model does not offer any more."""
    return config if config.reasoning_effort in (None, *info.efforts) else replace(config, reasoning_effort=None)


def effort_values(info: ModelInfo) -> tuple[str, ...]:
    """Return the values of the option, none for a model that has no efforts."""
    if not info.efforts:
        return ()
    return info.efforts if info.default_effort is not None else (OWN_EFFORT, *info.efforts)


def model_value(model: ModelInfo) -> str:
    """Return the value of a model: `provider/model`."""
    return f"{model.provider}/{model.id}"


def _current_effort(config: CallConfig, info: ModelInfo) -> str:
    if config.reasoning_effort in info.efforts:
        return config.reasoning_effort or OWN_EFFORT
    return info.default_effort or OWN_EFFORT


def _model_option(value: str, model: ModelInfo) -> dict[str, Any]:
    window = "" if model.context_window is None else f", {_tokens(model.context_window)} tokens"
    return {"value": value, "name": model.name, "description": f"{model.provider}{window}"}


def _tokens(count: int) -> str:
    return f"{count / 1_000_000:g}M" if count >= 1_000_000 and count % 1000 == 0 else f"{round(count / 1000)}k"
