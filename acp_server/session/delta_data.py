"""The data of a delta, frozen at once: nine of ten events of a log are of these three shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.base.json_value import SAFE_INTEGER, FrozenObject

_WORDS: Final = ("text-delta", "reasoning-delta")


def freeze_delta(data: Mapping[str, object]) -> FrozenObject | None:
    """Return what `freeze` and `check_shape` would give, or None for data that they have to look at themselves."""
    chunk = data.get("chunk")
    if type(chunk) is not dict or len(data) != 3:
        return None
    turn, step, index = data.get("turn"), data.get("step"), chunk.get("index")
    if not (type(turn) is type(step) is type(index) is int):
        return None
    if not (0 < turn <= SAFE_INTEGER and 0 < step <= SAFE_INTEGER and 0 <= index <= SAFE_INTEGER):
        return None
    if _is_words(chunk) if chunk.get("type") in _WORDS else _is_call(chunk):
        return FrozenObject({"turn": turn, "step": step, "chunk": FrozenObject(chunk)})
    return None


def _is_words(chunk: dict[str, object]) -> bool:
    text = chunk.get("text")
    return len(chunk) == 3 and type(text) is str and (text.isascii() or _is_whole(text))


def _is_call(chunk: dict[str, object]) -> bool:
    texts = (chunk.get("id"), chunk.get("argumentsDelta"), chunk.get("name", ""))
    if chunk.get("type") != "tool-call-delta" or len(chunk) != 4 + ("name" in chunk):
        return False
    return all(type(text) is str and (text.isascii() or _is_whole(text)) for text in texts)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
