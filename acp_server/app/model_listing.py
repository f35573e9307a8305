"""Which models of a provider are worth listing, and what is known about one (docs/llm.md, table M). Pure.

Owns the order of sources: the provider's own row, the settings' table of models, the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from acp_server.app.model_facts import ModelFacts
from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.catalog import known_models, lookup

Known: TypeAlias = Callable[[str], ModelInfo | None]


def known_of(config: Mapping[str, Any], facts: ModelFacts) -> Known:
    """Return what looks a model of the provider up; it gives None for a model that nobody knows."""
    name, catalog = config["name"], config.get("catalog", config["name"])

    def known(model: str) -> ModelInfo | None:
        found = facts.over(name, model, lookup(catalog, model))
        return None if found is None else replace(found, provider=name)

    return known


def listed(config: Mapping[str, Any], facts: ModelFacts) -> tuple[ModelInfo, ...]:
    """Return the provider's models: those that its row names, those of the settings, then the catalogue's."""
    name, known = config["name"], known_of(config, facts)
    catalogued = [info.id for info in known_models(config.get("catalog", name))]
    names = dict.fromkeys((*config.get("models", ()), *facts.names(name), *catalogued))
    return tuple(known(model) or ModelInfo(name, model, model) for model in names)
