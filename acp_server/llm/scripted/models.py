"""The scripts that are shipped, as models: their ids and what they are called. Pure, and cheap to load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.llm.adapter import ModelInfo

PROVIDER: Final = "scripted"
CONTEXT_WINDOW: Final = 200_000
NAMES: Final[Mapping[str, str]] = {
    "demo": "Demo (scripted)",
    "echo": "Echo (scripted)",
    "slow": "Slow (scripted)",
}


def scripted_model(model: str, provider: str = PROVIDER) -> ModelInfo | None:
    """Return the shipped script as a model, or None."""
    name = NAMES.get(model)
    if name is None:
        return None
    return ModelInfo(provider, model, name, CONTEXT_WINDOW, input_modalities=frozenset({"text", "image"}))


def scripted_models(provider: str = PROVIDER) -> tuple[ModelInfo, ...]:
    """Return every shipped script as a model."""
    found = (scripted_model(model, provider) for model in NAMES)
    return tuple(model for model in found if model is not None)
