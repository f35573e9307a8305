"""Ids that tests can foretell."""

from __future__ import annotations


class FakeIds:
    """Fits acp_server.base.ports.Ids: PREFIX-1, PREFIX-2 and so on."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix, self._count = prefix, 0

    def new(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"
