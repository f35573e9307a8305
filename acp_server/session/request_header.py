"""The epoch header: everything of a request but its messages, as the log records it (docs/sessions.md, clause D-3).

Owns its canonical form, its equality and its JSON form. With the messages of the Surface it gives back a request byte
for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value
from acp_server.messages.request import CallConfig, ToolSchema

ADAPTER_DEFAULTS: Final = ("reasoningEffort", "maxTokens")
_OPTIONS: Final = (("reasoningEffort", "reasoning_effort"), ("temperature", "temperature"), ("maxTokens", "max_tokens"))


@value
class EpochHeader:
    """One request's configuration, system prompt and tools, in canonical form by construction.

    `adapter_defaults` names the fields of the configuration that the adapter chose, by their JSON names. An empty
    system prompt is None. Two headers are equal when they make the same request: the order of tools and of a schema's
    keys counts, whether a list is a list or a tuple does not.
    """

    config: CallConfig
    system: str | None = None
    tools: tuple[ToolSchema, ...] = ()
    adapter_defaults: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.system == "":
            object.__setattr__(self, "system", None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EpochHeader):
            return NotImplemented
        mine = (self.config, self.adapter_defaults, self.system)
        return mine == (other.config, other.adapter_defaults, other.system) and _text_of(self.tools) == _text_of(
            other.tools
        )

    def __hash__(self) -> int:
        return hash((self.config, self.adapter_defaults, self.system))

    def to_json(self) -> dict[str, JsonValue]:
        """Return `{config, adapterDefaults?, system?, tools?}`; what is empty is left out."""
        data: dict[str, JsonValue] = {"config": _config_to_json(self.config)}
        if self.adapter_defaults:
            data["adapterDefaults"] = {key: True for key in ADAPTER_DEFAULTS if key in self.adapter_defaults}
        if self.system is not None:
            data["system"] = self.system
        if self.tools:
            data["tools"] = _tools_to_json(self.tools)
        return data

    @classmethod
    def from_json(cls, data: JsonObject) -> EpochHeader:
        """Return the header; raise ServerError INVALID_EVENT_DATA when a field has the wrong type."""
        try:
            return cls(
                config=_config_from_json(_object(data["config"])),
                system=_text(data["system"]) if "system" in data else None,
                tools=tuple(_tool_from_json(_object(tool)) for tool in _list(data.get("tools", ()))),
                adapter_defaults=frozenset(_object(data.get("adapterDefaults", {}))),
            )
        except (KeyError, TypeError) as error:
            raise ServerError("INVALID_EVENT_DATA", f"request/header: the header is malformed ({error})") from error


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
