"""Components of models: providers, the scripted one, the default model, facts of the settings.

Adapters are made in the warm-up thread, which is where their modules are imported.
"""

from __future__ import annotations

from typing import Any, cast

from acp_server.app.components import hot
from acp_server.app.keys import key_source
from acp_server.app.model_facts import ModelFacts
from acp_server.app.model_listing import known_of, listed
from acp_server.app.providers import ModelKit, ProviderEntry
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.llm.adapter import Adapter
from acp_server.llm.scripted.models import scripted_model, scripted_models
from acp_server.messages.request import CallConfig


@hot
def provider(parts: Parts, config: Config) -> None:
    """Register a provider over HTTP; the config is a table `[providers.NAME]` of the settings, with its name."""
    given = cast("dict[str, Any]", config)
    source = key_source(given.get("key"), parts.environment)
    variable = given.get("base_url_env")
    url = (parts.environment.get(variable, "").strip() if variable else "") or given["base_url"]
    models = given.get("models", [])

    def make(kit: ModelKit) -> Adapter:
        from acp_server.app.model_runtime import http_adapter  # noqa: PLC0415 - the HTTP stack is not for the start

        return http_adapter(given, url.rstrip("/"), source, kit)

    parts.adapters.add(
        ProviderEntry(
            given["name"],
            make,
            ready=(lambda: True) if source is None else source.there,
            missing="Nothing" if source is None else source.missing,
            key_name=None if source is None else source.name,
            default_model=given.get("default_model") or (models[0] if models else None),
            models=lambda facts: listed(given, facts),
            known=lambda facts, model: known_of(given, facts)(model),
        )
    )


@hot
def scripted(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the built-in scripted models, which need no key and no network."""

    def make(kit: ModelKit) -> Adapter:  # noqa: ARG001 - likewise
        from acp_server.llm.scripted.adapter import ScriptedAdapter  # noqa: PLC0415 - not for the start path

        return ScriptedAdapter()

    parts.adapters.add(
        ProviderEntry(
            "scripted",
            make,
            only_named=True,
            models=lambda _facts: scripted_models(),
            known=lambda _facts, model: scripted_model(model),
        )
    )


@hot
def default_model(parts: Parts, config: Config) -> None:
    """Register the model of sessions for which nobody names one: `model`."""
    named = config.get("model")
    if isinstance(named, str):
        name, _, model = named.partition("/")
        parts.default_models.add(CallConfig(name, model))


@hot
def overrides(parts: Parts, config: Config) -> None:
    """Register facts about models, by `provider/model`."""
    if config:
        parts.facts.add(ModelFacts(cast("dict[str, dict[str, Any]]", config)))
