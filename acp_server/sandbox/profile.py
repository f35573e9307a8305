"""What a box is made of: an ordered list of mounts, computed from a policy and what is on the disk. Pure.

Owns the order, which carries the meaning (docs/sandbox.md, clauses B-1 to B-9): later mounts lie on top of earlier
ones. Both boxes that the kernel can fully enforce, bubblewrap's and our own, are built from the same list.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from acp_server.base.values import value
from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import unfit_workspace, within
from acp_server.sandbox.policy import Level, Policy, at_most

MountKind: TypeAlias = Literal["ro", "rw", "tmpfs", "dev", "proc"]

TMP_BYTES: Final = 1 << 30
RUN_BYTES: Final = 16 << 20
PROC_TREES: Final = ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
PROC_FILES: Final = ("/proc/sysrq-trigger", "/proc/keys")
"""What the superuser could write or read in a box without a single capability; other accounts cannot."""


@value
class Mount:
    """One mount: `source` on the host at `target` in the box; `size` in bytes is a tmpfs's."""

    kind: MountKind
    target: str
    source: str = ""
    size: int = 0


@value
class Placeholder:
    """A protected name that does not exist: something empty is mounted there so that it cannot be made."""

    path: str
    directory: bool = True


@value
class Layout:
    """What a survey of the disk found for one policy. All paths are canonical.

    `watched` are names that no mount can protect, each compared before and after a command; `granted` are directories
    outside of workspaces that git needs; `proc` and `run` are paths of /proc and /run that exist here. `shown` are
    secrets that the person allowed to be read, `opened` paths outside of workspaces that may be written.
    """

    secret_directories: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    missing: tuple[Placeholder, ...] = ()
    pins: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    proc: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    folds_case: bool = False


@value
class Empties:
    """An empty directory and an empty file of ours, mounted where nothing is to be seen."""

    directory: str
    file: str


def effective_level(policy: Policy, host: Host) -> Level:
    """Return the level that holds for a call: a workspace that is no project is read only (docs/sandbox.md, W-2)."""
    if policy.level == "workspace-write" and unfit_workspace(policy.workspace, host.home, host.own):
        return at_most(policy.level, "read-only")
    return policy.level


def writable_places(policy: Policy, host: Host) -> tuple[str, ...]:
    """Return the directories in which a command may write; none when the level is read-only."""
    if effective_level(policy, host) != "workspace-write":
        return ()
    roots = [root for root in policy.roots if not unfit_workspace(root, host.home, host.own)]
    return tuple(dict.fromkeys([policy.workspace, *roots]))


def mounts(policy: Policy, host: Host, layout: Layout, empties: Empties) -> tuple[Mount, ...]:
    """Return the mounts of a box for a policy below full-access, first to last.

    Secret files that no mounted place holds are covered early: a bind takes longer the more mounts there are.
    """
    shown = tuple(sorted({policy.workspace, *policy.roots, *layout.granted}))
    writable = {*writable_places(policy, host), *layout.granted}
    outside = tuple(path for path in layout.secret_files if not any(within(path, place) for place in shown))
    made = [Mount("ro", "/", "/"), *(Mount("ro", path, empties.file) for path in outside), *_system(host, layout)]
    made += [Mount("tmpfs", path, size=RUN_BYTES) for path in _covering(layout.secret_directories, shown)]
    made += [Mount("rw" if place in writable else "ro", place, place) for place in shown]
    made += [Mount("rw", path, path) for path in layout.pins]
    made += [Mount("ro", path, path) for path in layout.protected]
    made += [
        Mount("ro", empty.path, empties.directory if empty.directory else empties.file) for empty in layout.missing
    ]
    made += _masks(layout, shown, empties)
    made += [Mount("ro", path, empties.file) for path in layout.secret_files if path not in outside]
    made += [Mount("ro", path, path) for path in layout.shown]
    made += [Mount("rw", path, path) for path in layout.opened]
    return tuple(made)


def _system(host: Host, layout: Layout) -> list[Mount]:
    made = [Mount("dev", "/dev"), Mount("proc", "/proc")]
    made += [Mount("ro", path, path) for path in layout.proc if path in PROC_TREES]
    made += [Mount("ro", path, "/dev/null") for path in layout.proc if path in PROC_FILES]
    made += [Mount("tmpfs", "/tmp", size=TMP_BYTES), Mount("tmpfs", "/run", size=RUN_BYTES)]  # noqa: S108 - the box's
    if host.runtime and not within(host.runtime, "/run"):
        made.append(Mount("tmpfs", host.runtime, size=RUN_BYTES))
    return made + [Mount("ro", path, path) for path in layout.run]


def _covering(secrets: tuple[str, ...], shown: tuple[str, ...]) -> list[str]:
    """Return the secret directories that hold a workspace: they become empty before it is mounted into them."""
    return [path for path in secrets if any(within(place, path) for place in shown)]


def _masks(layout: Layout, shown: tuple[str, ...], empties: Empties) -> list[Mount]:
    late = [path for path in layout.secret_directories if path not in _covering(layout.secret_directories, shown)]
    opened = [path for path in late if any(within(file, path) for file in layout.shown)]
    return [
        Mount("tmpfs", path, size=RUN_BYTES) if path in opened else Mount("ro", path, empties.directory)
        for path in late
    ]
