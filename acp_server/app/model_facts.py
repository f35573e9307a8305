"""What the settings say about models, in front of the catalogue (docs/settings.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp_server.base.values import replace, value
from acp_server.llm.adapter import ModelInfo


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
        return replace(info, **changes)

    def prices(self, provider: str, model: str) -> Mapping[str, float] | None:
        """Return the model's prices in US dollars for a million tokens, or None."""
        return self.table.get(f"{provider}/{model}", {}).get("prices")


_PLAIN = ("name", "context_window", "max_output_tokens", "default_effort")
NO_FACTS = ModelFacts({})


def _kept_effort(effort: str | None, efforts: Sequence[str]) -> str | None:
    return effort if effort in efforts else None
