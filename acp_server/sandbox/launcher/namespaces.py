"""A box of namespaces: the mounts of a plan on a read-only view of the disk, its own processes, and no network.

Owns the order of forks. The process that the server started (the keeper) makes one that leaves for new namespaces
(the mover), which makes process 1 of the box (the init), which makes the command. When the keeper dies, all do.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import stat
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from acp_server.sandbox.launcher import kernel
from acp_server.sandbox.launcher.status import Status

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE = 2, 4, 8, 4096, 16384, 1 << 19
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
NEW_MOUNTS, NEW_NAMES, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_FULL_RANGE: Final = "0 0 4294967295"
_KEPT: Final = frozenset({0, 1, 3})  # chown, dac_override, fowner: a superuser's files may have many owners
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")


def run(plan: Mapping[str, Any], command: Sequence[str], status: Status) -> int:
    """Build the box, run the command and return its exit code; the keeper's part."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    moved, mapped = os.pipe(), os.pipe()
    mover = os.fork()
    if mover == 0:
        os._exit(status.guarded(lambda: _move(plan, command, status, moved[1], mapped[0])))
    os.close(moved[1])
    if os.read(moved[0], 1):
        _map_ids(mover)
        os.write(mapped[1], b"m")
    return _code(os.waitpid(mover, 0)[1])


def _move(plan: Mapping[str, Any], command: Sequence[str], status: Status, moved: int, mapped: int) -> int:
    """Leave for new namespaces and wait for the init; the mover's part."""
    flags = NEW_USER | NEW_MOUNTS | NEW_PIDS | NEW_IPC | NEW_NAMES
    kernel.unshare(plan["machine"], flags if plan["network"] else flags | NEW_NETWORK)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.write(moved, b"m")
    if not os.read(mapped, 1):
        raise OSError("the ids could not be mapped")
    init = os.fork()
    if init == 0:
        os._exit(status.guarded(lambda: _init(plan, command, status)))
    status.write({"child-pid": init})
    return _code(os.waitpid(init, 0)[1])


def _init(plan: Mapping[str, Any], command: Sequence[str], status: Status) -> int:
    """Build the box, start the command and reap everything until it ends; process 1's part."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    _mount_all(plan["mounts"])
    if not plan["network"]:
        _loopback_up()
    job = os.fork()
    if job == 0:
        os._exit(status.guarded(lambda: _become(plan, command)))
    while True:
        ended, state = os.wait()
        if ended == job:
            status.write({"exit-code": _code(state)})
            return _code(state)


def _become(plan: Mapping[str, Any], command: Sequence[str]) -> NoReturn:
    os.chdir(plan["cwd"])  # the inherited directory is the one below the mounts
    kernel.keep_capabilities(plan["machine"], _KEPT if plan["superuser"] else frozenset())
    kernel.filter_calls(plan["machine"], bytes.fromhex(plan["seccomp"]))
    os.execvp(command[0], list(command))  # noqa: S606 - the command is what the box is for


def _map_ids(mover: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        try:
            _put(f"/proc/{mover}/uid_map", _FULL_RANGE)
            _put(f"/proc/{mover}/gid_map", _FULL_RANGE)
        except OSError:
            _put(f"/proc/{mover}/uid_map", "0 0 1")
            _put(f"/proc/{mover}/gid_map", "0 0 1")
        return
    _put(f"/proc/{mover}/setgroups", "deny")
    _put(f"/proc/{mover}/uid_map", f"{uid} {uid} 1")
    _put(f"/proc/{mover}/gid_map", f"{gid} {gid} 1")


def _put(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _mount_all(rows: Sequence[Mapping[str, Any]]) -> None:
    """Do the mounts in order. Sources are opened before the first one, so that none is hidden by another."""
    sources = {row["source"]: os.open(row["source"], os.O_PATH) for row in rows if row["source"]}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES if os.path.exists(f"/dev/{name}")}
    kernel.mount(None, "/", None, MS_REC | MS_SLAVE)
    kernel.change_mount("/", add=ATTR_RDONLY | ATTR_NODEV | ATTR_NOSUID, recursive=True)
    for row in rows:
        kind, target = row["kind"], row["target"]
        if target == "/":
            continue
        if kind == "dev":
            _devices(devices)
        elif kind == "proc":
            kernel.mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        elif kind == "tmpfs":
            os.makedirs(target, exist_ok=True)
            kernel.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, f"size={row['size']},mode=1777")
        else:
            _bind(sources[row["source"]], target, writable=kind == "rw")
    for descriptor in (*sources.values(), *devices.values()):
        os.close(descriptor)


def _bind(source: int, target: str, *, writable: bool) -> None:
    if not os.path.lexists(target):
        if stat.S_ISDIR(os.fstat(source).st_mode):
            os.makedirs(target)
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    kernel.mount(f"/proc/self/fd/{source}", target, None, MS_BIND | MS_REC)
    if writable:
        kernel.change_mount(target, clear=ATTR_RDONLY)
    else:
        kernel.change_mount(target, add=ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, recursive=True)


def _devices(found: Mapping[str, int]) -> None:
    kernel.mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "size=64k,mode=755")
    for name, descriptor in found.items():
        target = f"/dev/{name}"
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
        kernel.mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND)
        kernel.change_mount(target, clear=ATTR_RDONLY | ATTR_NODEV)
    os.mkdir("/dev/shm")  # noqa: S108 - the box's own
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777")  # noqa: S108
    os.mkdir("/dev/pts")
    kernel.mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")
    os.symlink("/proc/self/fd", "/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        fcntl.ioctl(plug, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up and running


def _code(state: int) -> int:
    code = os.waitstatus_to_exitcode(state)
    return code if code >= 0 else 128 - code
