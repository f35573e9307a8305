"""Looking well-known models up in the table of facts (docs/llm.md, table M). Pure.

An unknown model works, with what is not known left None: a window is never guessed. Settings may state any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.model_table import rows

_MODELS: Final[Mapping[tuple[str, str], ModelInfo]] = {(row.provider, row.id): row for row in rows()}


def known_models(provider: str) -> tuple[ModelInfo, ...]:
    """Return the provider's models that the table holds, in its order: the newest first."""
    return tuple(row for row in _MODELS.values() if row.provider == provider)


def lookup(provider: str, model: str) -> ModelInfo | None:
    """Return the facts, or None; a name with a date at its end means the model without it."""
    row = _MODELS.get((provider, model)) or _MODELS.get((provider, _undated(model)))
    return None if row is None else replace(row, id=model)


def model_info(provider: str, model: str) -> ModelInfo:
    """Return the facts; of an unknown model only its name is one."""
    return lookup(provider, model) or ModelInfo(provider, model, model)


def facts_of(provider: str) -> Callable[[str], ModelInfo | None]:
    """Return what an encoder asks for facts about one provider's models."""
    return lambda model: lookup(provider, model)


def _undated(model: str) -> str:
    stem, _, date = model.rpartition("-")
    if len(date) == 8 and date.isdigit():
        return stem
    stem, *parts = model.rsplit("-", 3)
    return stem if [len(part) for part in parts] == [4, 2, 2] and "".join(parts).isdigit() else model
