"""A box spelled for bubblewrap (docs/sandbox.md, clauses B-1 to B-9). Pure.

Owns the switches. The program's own answer about how it went comes on a descriptor of its own, so that a command
cannot write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_server.sandbox.profile import Mount

PROGRAM: Final = "/usr/bin/bwrap"
"""The one place that is trusted: on some systems only this path may make user namespaces."""

_ALWAYS: Final = (
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
)
_EMPTY: Final = ("--perms", "0555", "--size", "4096", "--tmpfs")
"""An empty directory. A bind mount of one costs five times as much, for bubblewrap reads all mounts after each; what a
command puts into this one against its mode is gone with the box."""


def bwrap_argv(
    mounts: Sequence[Mount],
    command: Sequence[str],
    cwd: str,
    *,
    network: bool,
    seccomp: int,
    status: int,
    gate: int,
    empty: str = "",
) -> list[str]:
    """Return the whole argv.

    `seccomp`, `status` and `gate` are descriptors that are passed on; the command waits until `gate` has an end.
    `network` shares the host's; `empty` is the source of the mounts that show an empty directory.
    """
    argv = [PROGRAM, *_ALWAYS]
    if not network:
        argv.append("--unshare-net")
    for mount in mounts:
        argv += _spelled(mount) if mount.source != empty or not empty else [*_EMPTY, mount.target]
    argv += ["--cap-drop", "ALL", "--seccomp", str(seccomp), "--json-status-fd", str(status)]
    argv += ["--block-fd", str(gate)]
    return [*argv, "--chdir", cwd, "--", *command]


def _spelled(mount: Mount) -> list[str]:
    match mount.kind:
        case "dev" | "proc":
            return [f"--{mount.kind}", mount.target]
        case "tmpfs":
            return ["--size", str(mount.size), "--tmpfs", mount.target]
        case "ro":
            return ["--ro-bind", mount.source, mount.target]
        case "rw":
            return ["--bind", mount.source, mount.target]
