"""Which box works here, found out by building each in a child with its real profile and trying to leave it.

Owns the order of trying and the facts for `doctor`. A box that does not hold is passed over with its reason.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.sandbox.bwrap import PROGRAM
from acp_server.sandbox.confine import ENFORCEMENT, LADDER, Backend, BoxKind, confine
from acp_server.sandbox.facts import Host
from acp_server.sandbox.landlock import GAPS
from acp_server.sandbox.leftovers import Leftovers
from acp_server.sandbox.policy import Policy

_LIMIT_SECONDS: Final = 20
_HELD: Final = 7
_SCRIPT: Final = (
    ': > made || exit 10; { echo x > "$0"; } 2>/dev/null; '
    'grep -q "^Seccomp:[[:space:]]*2" /proc/self/status || exit 12; exit 7'
)
_REASONS: Final = {
    10: "the workspace could not be written",
    12: "the filter of system calls was not in force",
}


def leftovers_of(host: Host) -> Leftovers:
    """Return the journals of what must not outlive a command or a write; one a process is enough."""
    return Leftovers(os.path.join(host.state, "sandbox", "leftovers"))


def probe(host: Host, kinds: Iterable[BoxKind] = LADDER, leftovers: Leftovers | None = None) -> Backend:
    """Return the first box of `kinds` that holds, and sweep what a crash left in workspaces; blocks for a moment."""
    leftovers = leftovers or leftovers_of(host)
    leftovers.sweep()
    passed_over: list[str] = []
    for kind in kinds:
        reason = _missing(kind) or _failure(Backend(kind, host, leftovers))
        if reason is None:
            return Backend(kind, host, leftovers, tuple(passed_over))
        passed_over.append(f"{kind}: {reason}")
    return Backend("none", host, leftovers, tuple(passed_over))


def describe(backend: Backend) -> dict[str, object]:
    """Return what is enforced, as JSON for `doctor`: the box, how far it holds, its gaps, why it is no better one."""
    return {
        "sandbox": backend.kind,
        "enforcement": ENFORCEMENT[backend.kind],
        "gaps": list(GAPS.values()) if backend.kind == "landlock" else [],
        "passedOver": list(backend.passed_over),
        "machine": backend.host.machine,
        "superuser": backend.host.uid == 0,
    }


def _missing(kind: BoxKind) -> str | None:
    if kind != "bubblewrap":
        return None
    try:
        facts = os.stat(PROGRAM)
    except OSError:
        return f"{PROGRAM} is not installed"
    if facts.st_uid != 0 or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{PROGRAM} does not belong to the system alone"
    return None


def _failure(backend: Backend) -> str | None:
    """Return why a box does not hold, or None when it does: write inside, try outside, look for the filter."""
    try:
        base = os.path.realpath(tempfile.mkdtemp(prefix="acp-server-probe-"))
    except OSError as error:
        return f"no temporary directory: {error.strerror}"
    workspace, outside = os.path.join(base, "workspace"), os.path.join(base, "outside")
    os.mkdir(workspace)
    try:
        policy = Policy("workspace-write", workspace)
        command = confine(policy, ("/bin/sh", "-c", _SCRIPT, outside), workspace, backend)
    except ServerError as error:
        return error.message
    try:
        if command.gate is not None:
            command.gate.open()
        ended = subprocess.run(  # noqa: S603 - our own argv
            command.argv,
            cwd="/",
            env=dict(command.environment),
            pass_fds=command.descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_SECONDS,
            check=False,
            start_new_session=True,
        )
        if os.path.exists(outside):
            return "a file outside of the workspace could be written"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        command.close()
        shutil.rmtree(base, ignore_errors=True)
    if ended.returncode == _HELD:
        return None
    said = ended.stderr.decode("utf-8", "replace").strip().split("\n")[-1][:200]
    return _REASONS.get(ended.returncode) or said or f"it ended with {ended.returncode}"
