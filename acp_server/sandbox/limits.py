"""What a command may use (docs/sandbox.md, clauses M-1 to M-6): defaults that the person's settings may raise. Pure."""

from __future__ import annotations

from typing import Final

from acp_server.base.values import value

MIB: Final = 1 << 20

WALL_SECONDS: Final = 120.0


@value
class Limits:
    """Limits of one command.

    `wall_seconds` None is without end, for background jobs. `grace_seconds` lie between TERM and KILL,
    `cancel_grace_seconds` when a person waits. Output: `head_bytes` and `tail_bytes` are kept in memory; what is longer
    than `spill_after_bytes` goes to the spill file up to `spill_bytes`, and then the command is stopped.
    """

    wall_seconds: float | None = WALL_SECONDS
    grace_seconds: float = 2.0
    cancel_grace_seconds: float = 0.15
    head_bytes: int = 64 << 10
    tail_bytes: int = 1 * MIB
    spill_bytes: int = 64 * MIB
    spill_after_bytes: int = 32 << 10


@value
class Resources:
    """Limits that the kernel keeps for each process of a command; `processes` counts those of a box."""

    open_files: int = 4096
    file_bytes: int = 2 << 30
    processes: int = 512
    oom_score: int = 500


BACKGROUND_JOBS: Final = 32
LIMITS: Final = Limits()
RESOURCES: Final = Resources()


def limited(command: tuple[str, ...], resources: Resources, *, superuser: bool) -> tuple[str, ...]:
    """Return a command behind a shell that limits itself first, inside of the box.

    The number of processes is counted by account outside of user namespaces and would count the person's other
    programs; a box has a count of its own. The superuser is not held by it.
    """
    steps = [
        "ulimit -c 0",
        f"ulimit -n {resources.open_files}",
        f"ulimit -f {resources.file_bytes // 512}",
        f"echo {resources.oom_score} > /proc/self/oom_score_adj",
    ]
    if not superuser:
        steps.append(f"ulimit -u {resources.processes} || ulimit -p {resources.processes}")
    script = "; ".join(f"{{ {step}; }} 2>/dev/null" for step in steps)
    return ("/bin/sh", "-c", f'{script}; exec "$@"', "sh", *command)
