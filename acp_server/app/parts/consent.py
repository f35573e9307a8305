"""Components of what tools may do: how consent is remembered, and what commands may reach."""

from __future__ import annotations

from typing import Any, cast

from acp_server.app.components import hot
from acp_server.app.registries import ConsentChoice, Parts, SandboxChoice
from acp_server.app.row import Config


@hot
def consent(parts: Parts, config: Config) -> None:
    """Register how long the yes holds that is remembered: `remember`."""
    given = cast("dict[str, Any]", config)
    if given:
        parts.consents.add(ConsentChoice(**given))


@hot
def sandbox(parts: Parts, config: Config) -> None:
    """Register what commands may reach: `network` and `hosts`."""
    given = cast("dict[str, Any]", config)
    if given:
        parts.sandboxes.add(SandboxChoice(given.get("network", "off"), tuple(given.get("hosts", ()))))
