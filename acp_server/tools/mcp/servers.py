"""Which server a session is to use, as its editor or the settings name it. Pure."""

from __future__ import annotations

from typing import TypeAlias

from acp_server.base.values import value

Pairs: TypeAlias = tuple[tuple[str, str], ...]


@value
class McpServer:
    """One server: a program that speaks over its pipes (`command`), or an address (`url`); exactly one is set.

    Values of `env` and `headers` may be keys and are never shown. `tools` are names of its tools that are used, None
    for all; `call_seconds` is how long a call may be silent. `missing` is a variable that should hold one of the values
    and is not set.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Pairs = ()
    url: str | None = None
    headers: Pairs = ()
    tools: tuple[str, ...] | None = None
    call_seconds: float = 120.0
    missing: str | None = None

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that no sentence may hold."""
        return tuple(text for _, text in (*self.env, *self.headers) if text)
