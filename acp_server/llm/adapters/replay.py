"""What an adapter put aside with an answer, read back for the next request (docs/llm.md, clause W-6).

The state is `{"protocol": …, "version": 1, …}`; `blocks`, when there, says something of each block of the content.
State of another protocol, version, provider or model, or that does not fit the content, is passed over: the neutral
content is always authoritative, the state only restores fidelity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapters.wire_json import record
from acp_server.messages.blocks import Message, ModelSource
from acp_server.messages.request import CallConfig

VERSION: Final = 1


def replay_state(protocol: str, **parts: JsonValue) -> dict[str, JsonValue] | None:
    """Return the state with the parts that are there, or None when there is none."""
    kept = {name: part for name, part in parts.items() if part}
    return {"protocol": protocol, "version": VERSION, **kept} if kept else None


def state_of(message: Message, protocol: str, config: CallConfig) -> JsonObject:
    """Return the message's state, or an empty one when it is not this protocol's for this route."""
    source = message.source
    if not isinstance(source, ModelSource) or (source.provider, source.model) != (config.provider, config.model):
        return {}
    state = source.replay_state
    if not isinstance(state, Mapping) or state.get("protocol") != protocol or state.get("version") != VERSION:
        return {}
    return state


def blocks_of(message: Message, protocol: str, config: CallConfig) -> tuple[JsonObject, ...]:
    """Return one entry for each block of the content; entries are empty where nothing was put aside."""
    blocks = state_of(message, protocol, config).get("blocks")
    if isinstance(blocks, str) or not isinstance(blocks, Sequence) or len(blocks) != len(message.content):
        return ({},) * len(message.content)
    return tuple(record(block) for block in blocks)
