"""Which providers there are by shipped rows and settings, and where each one's key comes from.

For commands outside of serving; nothing is built for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from acp_server.app.layers import PROVIDER, Choice, full_tree, read_settings
from acp_server.app.places import Places
from acp_server.base.errors import ServerError
from acp_server.base.values import value


@value
class ProviderKey:
    """A provider's key: the variable that holds it or that a stored key stands in for, else None and, in words, why."""

    provider: str
    variable: str | None
    source: str = ""


def provider_configs(places: Places) -> tuple[Mapping[str, Any], ...]:
    """Return the configs of the providers' rows; raise ServerError when a file of settings is wrong."""
    settings = read_settings(places) if os.path.isfile(f"{places.config}/settings.toml") else None  # noqa: PTH113 - one call
    rows = full_tree(Choice(), places, settings).rows
    return tuple(
        cast("Mapping[str, Any]", row.config) for row in rows if row.component == PROVIDER and not row.disabled
    )


def provider_keys(places: Places) -> tuple[ProviderKey, ...]:
    """Return every provider with its key's place; raise ServerError when a file of settings is wrong."""
    return tuple(_key(config["name"], config.get("key")) for config in provider_configs(places))


def named(provider: str, providers: Sequence[ProviderKey]) -> ProviderKey:
    """Return the provider of that name; raise ServerError UNKNOWN_PROVIDER naming those that there are."""
    for known in providers:
        if known.provider == provider:
            return known
    names = ", ".join(known.provider for known in providers)
    raise ServerError("UNKNOWN_PROVIDER", f"There is no provider {provider!r}; known are {names}.")


def _key(provider: str, source: Mapping[str, Any] | None) -> ProviderKey:
    match source:
        case None:
            return ProviderKey(provider, None, "is not asked for by its server")
        case {"env": str(variable)}:
            return ProviderKey(provider, variable)
        case {"file": path}:
            return ProviderKey(provider, None, f"comes from the file {path}")
        case _:
            return ProviderKey(provider, None, "comes from a command of the settings")
