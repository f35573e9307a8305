"""The epoch header: everything of a request but its messages, as the log records it (docs/log-format.md, clause E-6).

Owns its canonical form, its equality and its JSON form. With the messages of the Surface it gives back a request byte
for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.request import CallConfig, ToolSchema

ADAPTER_DEFAULTS: Final = ("reasoningEffort", "maxTokens")
_OPTIONS: Final = (("reasoningEffort", "reasoning_effort"), ("temperature", "temperature"), ("maxTokens", "max_tokens"))


@dataclass(frozen=True, slots=True)
class EpochHeader:
    """One request's configuration, system prompt and tools, in canonical form by construction.

    `adapter_defaults` names the fields of the configuration that the adapter chose, by their JSON names. An empty
    system prompt is None.
    """

    config: CallConfig
    system: str | None = None
    tools: tuple[ToolSchema, ...] = ()
    adapter_defaults: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.system == "":
            object.__setattr__(self, "system", None)

    def same_as(self, other: EpochHeader) -> bool:
        """Return whether both make the same request: the order of tools and of a schema's keys counts."""
        return (self.config, self.adapter_defaults, self.system) == (
            other.config,
            other.adapter_defaults,
            other.system,
        ) and _text_of(self.tools) == _text_of(other.tools)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Where requests go, as the log records it when it changes; `context_window` is in tokens, None is unknown."""

    provider: str
    model: str
    context_window: int | None = None


def epoch_header_to_json(header: EpochHeader) -> dict[str, JsonValue]:
    """Return `{config, adapterDefaults?, system?, tools?}`; what is empty is left out."""
    data: dict[str, JsonValue] = {"config": _config_to_json(header.config)}
    if header.adapter_defaults:
        data["adapterDefaults"] = {key: True for key in ADAPTER_DEFAULTS if key in header.adapter_defaults}
    if header.system is not None:
        data["system"] = header.system
    if header.tools:
        data["tools"] = _tools_to_json(header.tools)
    return data


def epoch_header_from_json(data: JsonObject) -> EpochHeader:
    """Return the header; raise ServerError INVALID_EVENT_DATA when a field has the wrong type."""
    try:
        defaults = data.get("adapterDefaults", {})
        return EpochHeader(
            config=_config_from_json(_object(data["config"])),
            system=_text(data["system"]) if "system" in data else None,
            tools=tuple(_tool_from_json(_object(tool)) for tool in _list(data.get("tools", ()))),
            adapter_defaults=frozenset(key for key, flag in _object(defaults).items() if flag is True),
        )
    except (KeyError, TypeError) as error:
        raise ServerError("INVALID_EVENT_DATA", f"request/header: the header is malformed ({error})") from error


def request_context_to_json(context: RequestContext) -> dict[str, JsonValue]:
    """Return `{provider, model, contextWindow?}`."""
    window = {} if context.context_window is None else {"contextWindow": context.context_window}
    return {"provider": context.provider, "model": context.model, **window}


def request_context_from_json(data: JsonObject) -> RequestContext:
    """Return the context of an event whose shape was checked."""
    window = data.get("contextWindow")
    return RequestContext(str(data["provider"]), str(data["model"]), window if isinstance(window, int) else None)


def _config_to_json(config: CallConfig) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {"provider": config.provider, "model": config.model}
    data |= {key: value for key, name in _OPTIONS if (value := getattr(config, name)) is not None}
    if config.stop:
        data["stop"] = list(config.stop)
    return data


def _config_from_json(data: JsonObject) -> CallConfig:
    temperature, max_tokens = data.get("temperature"), data.get("maxTokens")
    return CallConfig(
        provider=_text(data["provider"]),
        model=_text(data["model"]),
        reasoning_effort=_text(data["reasoningEffort"]) if "reasoningEffort" in data else None,
        temperature=temperature if isinstance(temperature, int | float) else None,
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        stop=tuple(_text(word) for word in _list(data.get("stop", ()))),
    )


def _tools_to_json(tools: Sequence[ToolSchema]) -> list[JsonValue]:
    return [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]


def _tool_from_json(data: JsonObject) -> ToolSchema:
    return ToolSchema(_text(data["name"]), _text(data["description"]), _object(data["parameters"]))


def _text_of(tools: Sequence[ToolSchema]) -> str:
    return json.dumps(_tools_to_json(tools), ensure_ascii=False, separators=(",", ":"))


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError("an object expected")
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError("a list expected")
    return value
