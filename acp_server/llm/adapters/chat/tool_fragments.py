"""Which call a fragment of Chat Completions belongs to (docs/llm.md, clause W-9).

Servers leave out the index, label every call 0, leave out ids, or repeat id and name with each fragment. The index
counts first, then the id, then whether the newest call is complete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acp_server.llm.adapters.answer import Answer, OpenBlock
from acp_server.llm.adapters.call_ids import CallIds
from acp_server.llm.adapters.wire_json import clean, joined_pairs, parse, record, text
from acp_server.messages.chunks import StreamChunk


class ToolFragments:
    """The calls of one answer by what their fragments are labelled with."""

    __slots__ = ("_answer", "_by_id", "_by_index", "_ids", "_newest", "_wire_ids", "extras")

    def __init__(self, answer: Answer, ids: CallIds) -> None:
        self._answer = answer
        self._ids = ids
        self._by_index: dict[int, OpenBlock] = {}
        self._by_id: dict[str, OpenBlock] = {}
        self._wire_ids: dict[int, str] = {}
        self._newest: OpenBlock | None = None
        self.extras: dict[str, Any] = {}
        """What a server wants back with a call, by the call's id."""

    def add(self, out: list[StreamChunk], fragment: Mapping[str, Any]) -> None:
        """Take one entry of `tool_calls`."""
        function = record(fragment.get("function"))
        index, piece = fragment.get("index"), function.get("arguments")
        ident, name = joined_pairs(text(fragment.get("id"))), joined_pairs(text(function.get("name")))
        if type(index) is str and index.isdecimal() and len(index) < 9:
            index = int(index)
        index = index if type(index) is int else None
        piece = piece if type(piece) is str else _arguments(piece)
        call = self._find(index, ident, name, piece)
        if call is None:
            call = self._begin(index, ident)
        fresh = name if name and not call.name else None
        if fresh is not None:
            call.name = fresh
        self._answer.write(out, call, piece, fresh)
        if extra := fragment.get("extra_content"):
            self.extras[call.call_id] = clean(extra)

    def _begin(self, index: int | None, ident: str) -> OpenBlock:
        call = self._answer.begin("tool-call", self._ids.give(ident))
        if index is not None:
            self._by_index[index] = call
        if ident:
            self._by_id[ident] = call
            self._wire_ids[call.index] = ident
        self._newest = call
        return call

    def _find(self, index: int | None, ident: str, name: str, piece: str) -> OpenBlock | None:
        """Return the call that the fragment continues, or None when it begins one."""
        if index is not None:
            call = self._by_index.get(index)
            if call is None:
                return None
            known = self._wire_ids.get(call.index, "")
            if ident and known and ident != known:
                return self._by_id.get(ident)
        elif ident:
            return self._by_id.get(ident)
        else:
            call = self._newest
        if call is None or (not ident and name and _begins_another(call, name, piece)):
            return None
        return call


def _begins_another(call: OpenBlock, name: str, piece: str) -> bool:
    """Return whether a fragment with a name but no id begins a call although its label says otherwise."""
    if not call.name:
        return False
    return name != call.name or (bool(piece) and _is_object(call.text))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(parse(arguments), dict)
    except ValueError:
        return False


def _arguments(value: object) -> str:
    """Return the raw text; an object, which some servers send, is written out, and null is nothing."""
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(clean(value), ensure_ascii=False)
