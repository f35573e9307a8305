"""A box that waits at its gate: the kernel's limits are set from outside before its command runs (clause M-4).

Owns the gate and the calls that limit another process. A shell in front of each command could do the same, and costs
its start.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from typing import Final

from acp_server.sandbox.limits import Resources

_UNLIMITED: Final = resource.RLIM_INFINITY


class Gate:
    """`inner` is the descriptor that the box waits on until the gate is opened."""

    def __init__(self, resources: Resources, *, superuser: bool) -> None:
        self._resources = resources
        self._superuser = superuser
        self.inner, self._outer = os.pipe()

    def open(self, pid: int | None = None) -> None:
        """Limit the box's first process, which all others come from, and let it run; harmless when done before."""
        if self._outer < 0:
            return
        if pid is not None:
            limit_process(pid, self._resources, superuser=self._superuser)
        os.close(self._outer)
        self._outer = -1


def limit_process(pid: int, resources: Resources, *, superuser: bool) -> None:
    """Set the limits of a process of this account, as far as it lives and as they are lower than what it has.

    The superuser is not held by a number of processes.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: resources.open_files,
        resource.RLIMIT_FSIZE: resources.file_bytes,
    }
    if not superuser:
        wanted[resource.RLIMIT_NPROC] = resources.processes
    with suppress(OSError):
        for kind, most in wanted.items():
            _, hard = resource.prlimit(pid, kind)
            lower = most if hard == _UNLIMITED else min(most, hard)
            resource.prlimit(pid, kind, (lower, lower))
    with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
        file.write(str(resources.oom_score))
