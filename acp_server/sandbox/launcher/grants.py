"""A box of grants: Landlock for files, a filter for calls, fewer capabilities; what kernels without namespaces allow.

Owns reaping whatever a command leaves behind. It is partial by nature: docs/sandbox.md, clause P-1, lists what stays
open.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from acp_server.sandbox.launcher import kernel
from acp_server.sandbox.launcher.status import Status

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_READ: Final = EXECUTE | READ_FILE | READ_DIR
_FILE_ONLY: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_RIGHTS_BY_VERSION: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP: Final = 3
_SCOPES: Final = 3
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
_KEPT: Final = frozenset({0, 1, 3, 4, 6, 7})  # chown, dac_override, fowner, fsetid, setgid, setuid
_ROUNDS: Final = 400


def version() -> int:
    """Return the version of Landlock that the kernel enforces, 0 for none."""
    answer = kernel.attempt(kernel.LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(answer, 0)


def run(plan: Mapping[str, Any], command: Sequence[str], status: Status) -> int:
    """Run the command and return its exit code; nothing that it started is left."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
    job = os.fork()
    if job == 0:
        os._exit(status.guarded(lambda: _become(plan, command)))
    signal.signal(signal.SIGTERM, _end)
    status.write({"child-pid": os.getpid(), "session": job})
    while True:
        ended, state = os.wait()
        if ended == job:
            break
    _end_all()
    code = os.waitstatus_to_exitcode(state)
    status.write({"exit-code": code if code >= 0 else 128 - code})
    return code if code >= 0 else 128 - code


def _become(plan: Mapping[str, Any], command: Sequence[str]) -> NoReturn:
    os.setsid()
    os.chdir(plan["cwd"])
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(str(plan["oom"]))
    if plan["superuser"]:
        kernel.keep_capabilities(plan["machine"], _KEPT)
    _restrict(plan)
    kernel.filter_calls(plan["machine"], bytes.fromhex(plan["seccomp"]))
    os.execvp(command[0], list(command))  # noqa: S606 - the command is what the box is for


def _restrict(plan: Mapping[str, Any]) -> None:
    level = version()
    if level == 0:
        raise OSError("Landlock is not enforced by this kernel")
    rights = _RIGHTS_BY_VERSION[min(level, 5)]
    net = _TCP if not plan["network"] and level >= 4 else 0
    size = 8 if level < 4 else 16 if level < 6 else 24
    attributes = struct.pack("<QQQ", rights, net, _SCOPES)[:size]
    rules = kernel.call(kernel.LANDLOCK_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    write = rights & ~(MAKE_CHAR | MAKE_BLOCK)
    for path in plan["write"]:
        _grant(rules, path, write, needed=True)
    for path in _readable(frozenset(plan["hidden"])):
        _grant(rules, path, _READ & rights)
    for path in plan["shown"]:
        _grant(rules, path, _READ & rights)
    for name in _DEVICES:
        _grant(rules, f"/dev/{name}", (READ_FILE | WRITE_FILE) & rights)
    for path in ("/dev/ptmx", "/dev/pts"):
        _grant(rules, path, (READ_FILE | WRITE_FILE | IOCTL_DEV) & rights)
    _grant(rules, "/dev/shm", write)  # noqa: S108 - semaphores of multiprocessing live there
    _grant(rules, "/", READ_DIR)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.call(kernel.LANDLOCK_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _grant(rules: int, path: str, rights: int, *, needed: bool = False) -> None:
    """Grant rights beneath a path. One that vanished grants nothing, which is narrower, unless it is needed."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        if needed:
            raise
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_ONLY
        rule = struct.pack("<Qi", rights, descriptor)
        kernel.call(
            kernel.LANDLOCK_ADD, ctypes.c_int(rules), ctypes.c_int(1), ctypes.c_char_p(rule), ctypes.c_uint32(0)
        )
    finally:
        os.close(descriptor)


def _readable(hidden: frozenset[str]) -> list[str]:
    """Return what to grant so that everything but the hidden paths can be read: the siblings along their ways."""
    found: list[str] = []
    waiting = ["/"]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.path in hidden or entry.is_symlink():
                        continue
                    if any(path.startswith(f"{entry.path}/") for path in hidden):
                        waiting.append(entry.path)
                    else:
                        found.append(entry.path)
        except OSError:
            continue
    return found


def _end(number: int, _: object) -> NoReturn:
    _end_all()
    os._exit(128 + number)


def _end_all() -> None:
    """End every descendant. They are stopped first, so that none can make another while it is looked for."""
    for _ in range(_ROUNDS):
        found = _descendants()
        if not found:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found if number == signal.SIGSTOP else _descendants():
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
        _reap()
        time.sleep(0.001)


def _reap() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
