"""What the settings say about models, in front of the catalogue (docs/settings.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp_server.base.values import replace, value
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.prices import Prices


@value
class ModelFacts:
    """The table `models`: facts by `provider/model`."""

    table: Mapping[str, Mapping[str, Any]]

    def names(self, provider: str) -> tuple[str, ...]:
        """Return the models of the provider that the table knows."""
        return tuple(name.partition("/")[2] for name in self.table if name.partition("/")[0] == provider)

    def over(self, provider: str, model: str, known: ModelInfo | None) -> ModelInfo | None:
        """Return what is known with the table's facts in front; None when neither knows the model."""
        facts = self.table.get(f"{provider}/{model}")
        if facts is None:
            return known
        info = known or ModelInfo(provider, model, model)
        changes: dict[str, Any] = {key: facts[key] for key in _PLAIN if key in facts}
        if "input" in facts:
            changes["input_modalities"] = frozenset(facts["input"])
        if "efforts" in facts:
            changes["efforts"] = tuple(facts["efforts"])
            changes.setdefault("default_effort", _kept_effort(info.default_effort, facts["efforts"]))
        if "prices" in facts:
            changes["prices"] = _prices(info.prices, facts["prices"])
        return replace(info, **changes)


_PLAIN = ("name", "context_window", "max_output_tokens", "default_effort")
NO_FACTS = ModelFacts({})

_PRICES = ("input", "output", "cache_read", "cache_write")


def _prices(known: Prices | None, stated: Mapping[str, float]) -> Prices | None:
    """Return the stated prices over the known ones; whoever states one gives up those of long requests."""
    kept = {} if known is None else {name: getattr(known, name) for name in _PRICES}
    merged = {**kept, **stated}
    return Prices(**merged) if {"input", "output"} <= merged.keys() else known


def _kept_effort(effort: str | None, efforts: Sequence[str]) -> str | None:
    return effort if effort in efforts else None
