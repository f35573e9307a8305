"""What an encoder may want to know about a model; who composes the protocols says where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from acp_server.llm.adapter import ModelInfo

ModelFacts: TypeAlias = Callable[[str], ModelInfo | None]
"""Returns what is known about the model of this name, or None."""


def nothing_known(_model: str) -> ModelInfo | None:
    """Return None: every model is unknown."""
    return None
