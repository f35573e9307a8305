"""How a process serves, as far as its command line says so."""

from __future__ import annotations

from dataclasses import dataclass

from acp_server.app.log_file import Level


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where the diagnostic log goes, how much of it, and whether running turns may end after the input has."""

    log: str | None = None
    log_level: Level = "info"
    wait: bool = False
