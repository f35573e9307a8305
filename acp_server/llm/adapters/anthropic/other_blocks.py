"""Blocks of answers that are neither words nor calls of ours: what a provider's own tools did (docs/llm.md, W-13).

Nobody here reads them; they go back unchanged in their place, without which the provider cannot go on after a pause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapters.wire_json import clean, count, parse, record, rows, text

_ENDINGS: Final = ("_tool_use", "_tool_result")
"""How the types of such blocks end: `server_tool_use`, `web_search_tool_result`."""


class OtherBlock:
    """One such block as it streams; `at` is how many blocks of the content stand before it."""

    __slots__ = ("_at", "_content", "_input")

    def __init__(self, content: Mapping[str, Any], at: int) -> None:
        self._content = content
        self._at = at
        self._input: list[str] = []

    @classmethod
    def of(cls, content: Mapping[str, Any], at: int) -> OtherBlock | None:
        """Return the block when it is one that goes back."""
        return cls(content, at) if text(content.get("type")).endswith(_ENDINGS) else None

    def feed(self, delta: Mapping[str, Any]) -> None:
        """Take a part of its input."""
        if delta.get("type") == "input_json_delta":
            self._input.append(text(delta.get("partial_json")))

    def entry(self) -> JsonValue:
        """Return what is kept of it with the answer."""
        block = dict(record(clean(dict(self._content))))
        if self._input:
            try:
                block["input"] = clean(parse("".join(self._input)))
            except ValueError:
                block["input"] = {}
        return {"at": self._at, "block": block}


def with_others(blocks: Sequence[dict[str, JsonValue] | None], state: JsonObject) -> Iterator[dict[str, JsonValue]]:
    """Yield the blocks of an answer's content, None where one is left out, with the kept others in their places."""
    others = [record(entry) for entry in rows(state.get("others"))]
    for place, block in enumerate((*blocks, None)):
        yield from (dict(record(other.get("block"))) for other in others if count(other.get("at")) == place)
        if block is not None:
            yield block
