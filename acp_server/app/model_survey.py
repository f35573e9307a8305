"""Which models can be used as things are: by providers, their keys and the settings, without serving anybody.

For `acp-server models`. Nothing is asked for over the network, no key is shown, nothing changes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from acp_server.app.components import Components
from acp_server.app.layers import Choice, full_tree, read_settings
from acp_server.app.model_facts import NO_FACTS
from acp_server.app.places import account_home, find_places
from acp_server.app.providers import ConfiguredModels
from acp_server.app.registries import Registries
from acp_server.app.session_access import SessionAccess
from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig
from acp_server.persistence.port import SessionPersistence


@value
class ProviderState:
    """A provider: whether requests can be made, what is missing if not, and its base URL where it has one."""

    name: str
    ready: bool
    missing: str
    base_url: str | None


@value
class Survey:
    """The models that can be chosen, the one that is used when nobody chooses, and every provider."""

    models: tuple[ModelInfo, ...]
    default: CallConfig | None
    providers: tuple[ProviderState, ...]


def survey(environment: Mapping[str, str]) -> Survey:
    """Return what can be used; raise ServerError when a file of settings is wrong or the named model is."""
    places = find_places(environment, account_home)
    settings = read_settings(places) if os.path.isfile(f"{places.config}/settings.toml") else None  # noqa: PTH113 - one call
    rows = full_tree(Choice(), places, settings).rows
    tables = Registries(environment, SessionAccess(_no_store, lambda _error: None))
    components = Components(tables)
    components.build(rows)
    try:
        models = ConfiguredModels(
            environment, tables.adapters, tables.default_models, facts=lambda: tables.facts.last or NO_FACTS
        )
        urls = {str(row.config.get("name")): row.config.get("base_url") for row in rows}
        states = [
            ProviderState(
                entry.name, models.usable(CallConfig(entry.name, "")), entry.missing, _text(urls.get(entry.name))
            )
            for entry in tables.adapters.items
        ]
        return Survey(models.offered(), models.default(), tuple(states))
    finally:
        asyncio.run(components.close())


def _text(url: object) -> str | None:
    return url if isinstance(url, str) else None


async def _no_store() -> SessionPersistence:
    raise ServerError("NO_STORE", "No store is opened to look at models.")
