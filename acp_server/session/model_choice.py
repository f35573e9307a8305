"""Which model a session's requests go to, as its log tells it (docs/llm.md, clauses O-1 to O-4). Pure.

Owns the event `model/selected`, which is ignorable: a reader that does not know it still has the requests' own headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.request import CallConfig
from acp_server.session.events import SessionEvent

SELECTED: Final = "model/selected"
_HEADER: Final = "request/header"
CHOICE_TYPES: Final = frozenset({SELECTED, _HEADER})


def selected_data(config: CallConfig) -> dict[str, JsonValue]:
    """Return `{provider, model, reasoningEffort?}`; without an effort the model's own holds."""
    data: dict[str, JsonValue] = {"provider": config.provider, "model": config.model}
    if config.reasoning_effort is not None:
        data["reasoningEffort"] = config.reasoning_effort
    return data


def chosen_model(milestones: Iterable[SessionEvent]) -> CallConfig | None:
    """Return what the person chose last, else where the last request went, else None.

    Of the log, the events of CHOICE_TYPES are enough.
    """
    chosen, asked = None, None
    for event in milestones:
        if event.type == SELECTED:
            chosen = event.data
        elif event.type == _HEADER:
            asked = event.data
    if chosen is not None:
        return _config(chosen)
    header = None if asked is None else asked.get("header")
    config = header.get("config") if isinstance(header, Mapping) else None
    return _config(config) if isinstance(config, Mapping) else None


def _config(data: JsonObject) -> CallConfig | None:
    provider, model, effort = (data.get(key) for key in ("provider", "model", "reasoningEffort"))
    if not isinstance(provider, str) or not isinstance(model, str):
        return None
    return CallConfig(provider, model, effort if isinstance(effort, str) else None)
