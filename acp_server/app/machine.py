"""What this machine gives to commands: facts, the best box, and the journals of what must not outlive one.

One a process: two journals would take each other's names away. Everything is found at its first use, which blocks for
a moment and may be in any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_server.sandbox.confine import Backend
    from acp_server.sandbox.facts import Host
    from acp_server.sandbox.leftovers import Leftovers


class Machine:
    """The facts of one process, by its environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._lock = threading.RLock()
        self._host: Host | None = None
        self._leftovers: Leftovers | None = None
        self._backend: Backend | None = None

    def host(self) -> Host:
        """Return what the sandbox has to know of this machine."""
        from acp_server.app.places import account_home, find_places  # noqa: PLC0415 - not for the start path
        from acp_server.sandbox.host import read_host  # noqa: PLC0415 - likewise

        with self._lock:
            if self._host is None:
                places = find_places(self.environment, account_home)
                own = (places.state, places.config, places.cache)
                self._host = read_host(self.environment, places.state, own)
            return self._host

    def leftovers(self) -> Leftovers:
        """Return the journals by which the next process takes away what a crash of this one leaves."""
        from acp_server.sandbox.probe import leftovers_of  # noqa: PLC0415 - not for the start path

        with self._lock:
            if self._leftovers is None:
                self._leftovers = leftovers_of(self.host())
            return self._leftovers

    def backend(self) -> Backend:
        """Return the box that commands get, found by trying."""
        from acp_server.sandbox.probe import probe  # noqa: PLC0415 - not for the start path

        with self._lock:
            if self._backend is None:
                self._backend = probe(self.host(), leftovers=self.leftovers())
            return self._backend
