"""From a policy and a command to what has to be started, by the best box that this machine gives.

Owns the ladder and its honesty (docs/sandbox.md, clauses A-1 to A-6): a box counts only after it has been built and
tried in a child. Below full-access there is no command without a box.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.sandbox.bwrap import bwrap_argv
from acp_server.sandbox.environment import proxy_variables, search_path, tool_environment
from acp_server.sandbox.facts import Host
from acp_server.sandbox.gate import Gate
from acp_server.sandbox.landlock import grants
from acp_server.sandbox.leftovers import Hold, Leftovers
from acp_server.sandbox.limits import RESOURCES, Resources, limited
from acp_server.sandbox.lists import within
from acp_server.sandbox.policy import Level, Policy
from acp_server.sandbox.profile import Empties, Layout, Mount, effective_level, mounts, writable_places
from acp_server.sandbox.quarantine import Quarantine
from acp_server.sandbox.seccomp import seccomp_program
from acp_server.sandbox.survey import survey

BoxKind: TypeAlias = Literal["bubblewrap", "namespaces", "landlock", "none"]
Enforcement: TypeAlias = Literal["full", "partial", "none"]
_Plan: TypeAlias = Mapping[str, Any]

LADDER: Final[tuple[BoxKind, ...]] = ("bubblewrap", "namespaces", "landlock")
ENFORCEMENT: Final[Mapping[BoxKind, Enforcement]] = {
    "bubblewrap": "full",
    "namespaces": "full",
    "landlock": "partial",
    "none": "none",
}
SHELL: Final = ("/bin/bash", "--noprofile", "--norc", "-c")
"""What a command line is given to; its text is the next word."""

SYSTEM_PYTHON: Final = "/usr/bin/python3"
EGRESS: Final = "/run/acp-server-egress.sock"
PROXY_PORT: Final = 3128
"""Where the way out is, in a box that has one."""

_RELAY: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher", "relay.py")
_LAUNCHER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher", "main.py")


@value
class Backend:
    """The box that commands get in this process: its kind, and for each better kind why it is not that one."""

    kind: BoxKind
    host: Host
    leftovers: Leftovers
    passed_over: tuple[str, ...] = ()
    resources: Resources = RESOURCES

    @property
    def enforcement(self) -> Enforcement:
        """Return how much of a policy the kernel holds."""
        return ENFORCEMENT[self.kind]


@dataclass(slots=True)
class ConfinedCommand:
    """What has to be started, once. Whoever starts it calls `close` when every process of it has ended.

    `descriptors` are passed on by number and closed after the start (`started`); `status` is where the box tells how
    it went, None without a box. `held` are protected names that do not exist and cannot be made. Where there is a
    `gate`, nothing runs before it is opened.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    level: Level
    kind: BoxKind
    descriptors: tuple[int, ...] = ()
    status: int | None = None
    network: bool = True
    held: tuple[str, ...] = ()
    gate: Gate | None = None
    quarantine: Quarantine | None = None
    refused: Callable[[], tuple[str, ...]] = tuple
    """Lines about hosts that its way out has refused."""
    _endings: list[Callable[[], object]] = field(default_factory=list)

    def started(self) -> None:
        """Close what only the child needs; harmless when done before."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()

    def close(self) -> tuple[str, ...]:
        """Take everything away that was made for the command, and return the protected names it had changed."""
        self.started()
        if self.gate is not None:
            self.gate.open()
        changed = self.quarantine.restore() if self.quarantine is not None else ()
        self.quarantine = None
        while self._endings:
            self._endings.pop()()
        return changed

    def at_end(self, step: Callable[[], object]) -> None:
        """Have a step done by `close`; the last one is done first."""
        self._endings.append(step)


def confine(
    policy: Policy, argv: Sequence[str], cwd: str, backend: Backend, *, egress: str | None = None
) -> ConfinedCommand:
    """Return the command in its box.

    `egress` is the socket of a proxy for the policy's allow-list; without it, and in the partial box, an allow-list is
    no network.

    Raises:
        ServerError: SANDBOX_UNAVAILABLE below full-access when there is no box, INVALID_CWD for a directory that is
            not there, SANDBOX_FAILED when the box's files cannot be made, and what the environment refuses.
    """
    real = os.path.realpath(cwd)
    if not os.path.isdir(real):
        raise ServerError("INVALID_CWD", f"The directory {cwd} does not exist.")
    if policy.level == "full-access":
        return _unconfined(policy, argv, real, backend)
    if backend.kind == "none":
        raise ServerError(
            "SANDBOX_UNAVAILABLE",
            "No command can run here below full access, because no sandbox works: "
            + ("; ".join(backend.passed_over) or "none was tried")
            + ".",
        )
    command = ConfinedCommand((), real, {}, policy.level, backend.kind, network=policy.network.mode == "on")
    try:
        _fill(command, policy, argv, backend, egress if policy.network.mode == "allow-list" else None)
    except OSError as error:
        command.close()
        raise ServerError("SANDBOX_FAILED", f"The sandbox could not be prepared: {error.strerror}.") from error
    except BaseException:
        command.close()
        raise
    return command


def _unconfined(policy: Policy, argv: Sequence[str], cwd: str, backend: Backend) -> ConfinedCommand:
    host = backend.host
    limits = limited(tuple(argv), backend.resources, superuser=True)
    return ConfinedCommand(limits, cwd, _environment(policy, host, private=False), policy.level, "none")


def _environment(policy: Policy, host: Host, *, private: bool) -> dict[str, str]:
    return tool_environment(
        home=host.home,
        user=host.user,
        path=search_path(host.path, (policy.workspace, *policy.roots)),
        private=private,
        language=host.language,
        timezone=host.timezone,
        added=host.added,
        marked=host.marked,
    )


def _fill(command: ConfinedCommand, policy: Policy, argv: Sequence[str], backend: Backend, egress: str | None) -> None:
    host = backend.host
    hold = backend.leftovers.hold(policy.workspace)
    command.at_end(hold.release)
    layout = survey(policy, host)
    command.level = effective_level(policy, host)
    command.environment = _environment(policy, host, private=True)
    inner = tuple(argv)
    if backend.kind != "bubblewrap":
        inner = limited(inner, backend.resources, superuser=host.uid == 0)
    if backend.kind == "landlock":
        _grant(command, policy, inner, backend, layout)
        return
    layout = _with_mount_points(layout, hold)
    command.held = tuple(empty.path for empty in layout.missing)
    aside = os.path.join(host.state, "sandbox", "set-aside")
    command.quarantine = Quarantine(layout.watched, (), aside) if layout.watched else None
    empties = _empties(host.state)
    read, write = os.pipe()
    command.status = read
    command.at_end(lambda: os.close(read))
    rows = mounts(policy, host, layout, empties)
    if egress is not None:
        rows = (*rows, Mount("ro", EGRESS, egress))
        inner = (*_relay(), *inner)
        command.environment = {**command.environment, **proxy_variables(PROXY_PORT)}
    if backend.kind == "bubblewrap":
        filter_end = _filled_pipe(seccomp_program(host.machine))
        command.gate = Gate(backend.resources, superuser=host.uid == 0)
        command.descriptors = (write, filter_end, command.gate.inner)
        command.argv = tuple(
            bwrap_argv(
                rows,
                inner,
                command.cwd,
                network=command.network,
                seccomp=filter_end,
                status=write,
                gate=command.gate.inner,
                empty=empties.directory,
            )
        )
        return
    listed = [{"kind": row.kind, "target": row.target, "source": row.source, "size": row.size} for row in rows]
    plan = {"box": "namespaces", "mounts": listed, "writable": writable_places(policy, host)}
    _launch(command, inner, write, backend, plan)


def _grant(command: ConfinedCommand, policy: Policy, inner: Sequence[str], backend: Backend, layout: Layout) -> None:
    """Fill in a command for the partial box: a temporary directory of its own, and protected names set aside."""
    private = os.path.realpath(tempfile.mkdtemp(prefix="acp-server-"))
    command.at_end(lambda: shutil.rmtree(private, ignore_errors=True))
    command.environment = {
        name: text.replace("/tmp", private, 1) if text.startswith("/tmp") else text  # noqa: S108 - the box has none
        for name, text in command.environment.items()
    }
    names = (*layout.protected, *(empty.path for empty in layout.missing), *layout.watched)
    aside = os.path.join(backend.host.state, "sandbox", "set-aside")
    command.quarantine = Quarantine(names, layout.pins, aside)
    read, write = os.pipe()
    command.status = read
    command.at_end(lambda: os.close(read))
    plan = {
        "box": "landlock",
        **grants(policy, backend.host, layout, private),
        "writable": writable_places(policy, backend.host),
    }
    _launch(command, inner, write, backend, plan)


def _launch(command: ConfinedCommand, inner: Sequence[str], status: int, backend: Backend, plan: _Plan) -> None:
    host = backend.host
    sockets: Literal["any", "unix"] = "unix" if plan["box"] == "landlock" and not command.network else "any"
    whole = {
        **plan,
        "cwd": command.cwd,
        "machine": host.machine,
        "network": command.network,
        "superuser": host.uid == 0,
        "oom": backend.resources.oom_score,
        "seccomp": seccomp_program(host.machine, sockets).hex(),
    }
    descriptor = os.memfd_create("plan")
    os.write(descriptor, json.dumps(whole).encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    command.descriptors = (status, descriptor)
    python = _interpreter(plan["writable"])
    command.argv = (python, "-I", "-S", _LAUNCHER, str(descriptor), str(status), "--", *inner)


def _relay() -> tuple[str, ...]:
    """Return the start of a command that has a way to the proxy first; it runs inside of the box."""
    python = SYSTEM_PYTHON if os.path.exists(SYSTEM_PYTHON) else os.path.realpath(sys.executable)
    with open(_RELAY, encoding="utf-8") as file:
        return (python, "-I", "-S", "-c", file.read(), EGRESS, str(PROXY_PORT))


def _interpreter(writable: Sequence[str]) -> str:
    """Return a Python that no tool can have changed."""
    for path in (sys.executable, SYSTEM_PYTHON):
        if path and os.path.exists(path) and not any(within(os.path.realpath(path), place) for place in writable):
            return os.path.realpath(path) if any(within(path, place) for place in writable) else path
    raise ServerError("SANDBOX_FAILED", "Every Python here lies in a directory that tools may write.")


def _with_mount_points(layout: Layout, hold: Hold) -> Layout:
    """Make the mount points of missing names; one that this account may not make is none that a command could."""
    made = set(hold.make({empty.path: empty.directory for empty in layout.missing}))
    kept = tuple(empty for empty in layout.missing if empty.path in made)
    fields = {name: getattr(layout, name) for name in Layout.__match_args__}
    return Layout(**{**fields, "missing": kept})


def _empties(state: str) -> Empties:
    folder = os.path.join(state, "sandbox", "empty")
    found = Empties(os.path.join(folder, "directory"), os.path.join(folder, "file"))
    if not os.path.exists(found.file):
        os.makedirs(found.directory, 0o700, exist_ok=True)
        os.close(os.open(found.file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o400))
    return found


def _filled_pipe(data: bytes) -> int:
    """Return a descriptor from which the data can be read once; it is far below what a pipe holds."""
    read, write = os.pipe()
    with suppress(BlockingIOError):
        os.write(write, data)
    os.close(write)
    return read
