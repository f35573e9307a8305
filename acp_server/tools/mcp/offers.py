"""What a server says of its tools, checked before a model sees any of it (docs/mcp.md, clauses N-5 to N-8). Pure.

A description is words of a stranger: it is cut, and what a schema holds that no provider or log could take costs that
one tool, never the request that it would stand in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, freeze
from acp_server.base.values import value
from acp_server.llm.adapters.tool_schema import parameters
from acp_server.messages.request import ToolSchema

MOST_TOOLS: Final = 100
"""Tools of all servers of a session together; some providers take 128 in all."""
MOST_BYTES: Final = 256 * 1024
"""Of the descriptions and schemas of all of them."""
LONGEST_DESCRIPTION: Final = 2000
LARGEST_SCHEMA: Final = 16 * 1024


@value
class Offer:
    """One tool as its server describes it; `digest` is of everything that a model would be told.

    `name` is the server's own name for it, `size` the bytes of what a model is told.
    """

    name: str
    description: str
    schema: JsonObject
    digest: str
    size: int


@value
class Offers:
    """The tools that can be used, and a sentence for each that cannot."""

    tools: tuple[Offer, ...]
    refused: tuple[str, ...] = ()


def read_offers(entries: Sequence[object], wanted: Sequence[str] | None = None) -> Offers:
    """Return what a server's list of tools comes to; `wanted` are the names that are used, None for all."""
    tools: dict[str, Offer] = {}
    refused: list[str] = []
    for entry in entries:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(name, str) or not name.strip():
            refused.append("one of its tools has no name")
        elif wanted is not None and name not in wanted:
            continue
        elif name in tools:
            refused.append(f"it has two tools named {name[:80]!r}")
        else:
            offer = _offer(name, entry)
            if isinstance(offer, str):
                refused.append(f"its tool {name[:80]!r} cannot be used: {offer}")
            else:
                tools[name] = offer
    return Offers(tuple(tools.values()), tuple(refused))


def within_bounds(tools: Sequence[Offer], count: int, size: int) -> tuple[Offer, ...]:
    """Return the first tools that fit beside `count` others of `size` bytes together."""
    kept: list[Offer] = []
    for tool in tools:
        count, size = count + 1, size + tool.size
        if count > MOST_TOOLS or size > MOST_BYTES:
            break
        kept.append(tool)
    return tuple(kept)


def _offer(name: str, entry: Mapping[str, Any]) -> Offer | str:
    schema = entry.get("inputSchema", {})
    if not isinstance(schema, Mapping):
        return "its parameters are no object"
    title, told = entry.get("title"), entry.get("description")
    words = told if isinstance(told, str) else title if isinstance(title, str) else ""
    try:
        frozen = freeze({"type": "object", **schema})
        whole = json.dumps([name, words, frozen], sort_keys=True)
        if len(whole) - len(words) > LARGEST_SCHEMA:
            return f"its parameters take more than {LARGEST_SCHEMA} bytes"
        if not isinstance(frozen, Mapping):
            return "its parameters are no object"
        parameters(ToolSchema("checked", "", frozen))
    except ServerError as error:
        return error.message.rpartition(": ")[2].rstrip(".")
    text = words if len(words) <= LONGEST_DESCRIPTION else f"{words[:LONGEST_DESCRIPTION]}…"
    return Offer(name, text, frozen, hashlib.sha256(whole.encode()).hexdigest(), len(whole))
