"""Started inside of a box with the facts as JSON: tries each effect and prints `ok` or `denied: why` for it as JSON.

Uses the standard library only. An effect that could not even be tried counts as denied; that it can be is shown by the
same script without a box.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FACTS: dict[str, Any] = json.loads(sys.argv[1])
WORKSPACE, OUTSIDE, HOME = Path(FACTS["workspace"]), Path(FACTS["outside"]), Path(FACTS["home"])
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
NUMBERS = (
    {"ptrace": 101, "unshare": 272, "mount": 165, "name_to_handle": 303, "open_by_handle": 304}
    if X86
    else {"ptrace": 117, "unshare": 97, "mount": 40, "name_to_handle": 264, "open_by_handle": 265}
)
Effect = Callable[[], object]
EFFECTS: dict[str, Effect] = {}


def effect(function: Effect) -> Effect:
    """The function's name is the effect's. It raises OSError, or returns False or a reason, when it was denied."""
    EFFECTS[function.__name__] = function
    return function


def attempt(function: Effect) -> str:
    try:
        answer = function()
    except OSError as error:
        return f"denied: {errno.errorcode.get(error.errno or 0, str(error.errno))}"
    except subprocess.SubprocessError as error:
        return f"denied: {error}"
    return "ok" if answer is None or answer is True else f"denied: {answer}"


def call(number: int, *arguments: object) -> int:
    answer: int = LIBC.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")
    return answer


def put(path: Path, mode: str = "w") -> None:
    with path.open(mode) as file:
        file.write("x")


def in_child(function: Effect) -> None:
    """For effects that change the process itself."""
    child = os.fork()
    if child == 0:
        try:
            function()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    state = os.waitpid(child, 0)[1]
    if state:
        raise OSError(os.waitstatus_to_exitcode(state), "")


def connect(family: int, address: Any) -> None:
    with socket.socket(family) as plug:
        plug.settimeout(1)
        plug.connect(address)


# what has to work


@effect
def ws_write() -> None:
    put(WORKSPACE / "made")


@effect
def ws_mkdir_rename() -> None:
    (WORKSPACE / "folder").mkdir()
    (WORKSPACE / "made").rename(WORKSPACE / "folder/moved")


@effect
def run_python_child() -> bool:
    return subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=False).returncode == 0


@effect
def read_system() -> None:
    Path("/etc/passwd").read_bytes()


@effect
def devnull_write() -> None:
    put(Path("/dev/null"))


@effect
def git_commit_path() -> None:
    put(WORKSPACE / ".git/objects/made")


# files outside


@effect
def out_write() -> None:
    put(OUTSIDE / "new")


@effect
def out_append() -> None:
    put(OUTSIDE / "existing", "a")


@effect
def out_truncate() -> None:
    os.truncate(OUTSIDE / "existing", 0)


@effect
def out_unlink() -> None:
    (OUTSIDE / "victim").unlink()


@effect
def out_chmod() -> None:
    (OUTSIDE / "existing").chmod(0o777)


@effect
def out_utime() -> None:
    os.utime(OUTSIDE / "existing", (1, 1))


@effect
def out_setxattr() -> None:
    os.setxattr(OUTSIDE / "existing", "user.mark", b"1")


@effect
def symlink_dir_escape() -> None:
    put(WORKSPACE / "link_dir/through_link")


@effect
def symlink_file_escape() -> None:
    put(WORKSPACE / "link_file", "a")


@effect
def dotdot_escape() -> None:
    put(Path(f"{WORKSPACE}/../{OUTSIDE.name}/dotdot"))


@effect
def new_symlink_escape() -> None:
    (WORKSPACE / "fresh").symlink_to(OUTSIDE)
    put(WORKSPACE / "fresh/new_link")


@effect
def hardlink_in_then_write() -> None:
    os.link(OUTSIDE / "existing", WORKSPACE / "hard")
    put(WORKSPACE / "hard", "a")


@effect
def rename_out() -> None:
    put(WORKSPACE / "leaving")
    (WORKSPACE / "leaving").rename(OUTSIDE / "left")


@effect
def grandchild_write() -> bool:
    script = f"sh -c 'echo x > {OUTSIDE}/grandchild'"
    return subprocess.run(["sh", "-c", script], stderr=subprocess.DEVNULL, check=False).returncode == 0


# secrets and other processes


@effect
def secret_read() -> object:
    return "PRIVATE" in (HOME / ".ssh/id_rsa").read_text() or "empty"


@effect
def secret_read_symlink() -> object:
    return "PRIVATE" in (WORKSPACE / "link_ssh/id_rsa").read_text() or "empty"


@effect
def secret_list() -> object:
    return bool(os.listdir(HOME / ".ssh")) or "empty"


@effect
def server_environ() -> bool:
    return b"planted-key" in Path(f"/proc/{FACTS['server']}/environ").read_bytes()


@effect
def proc_root_write() -> None:
    put(Path(f"/proc/{FACTS['server']}/root{OUTSIDE}/through_proc"))


@effect
def proc_mem_open() -> None:
    os.close(os.open(f"/proc/{FACTS['decoy']}/mem", os.O_RDWR))


@effect
def kill_decoy() -> None:
    os.kill(FACTS["decoy"], signal.SIGCONT)


@effect
def ptrace_decoy() -> None:
    call(NUMBERS["ptrace"], ctypes.c_long(16), ctypes.c_long(FACTS["decoy"]), None, None)


# network and sockets


@effect
def net_tcp() -> None:
    connect(socket.AF_INET, ("127.0.0.1", FACTS["tcp"]))


@effect
def net_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.sendto(b"leak", ("127.0.0.1", FACTS["udp"]))


@effect
def unix_path_socket() -> None:
    connect(socket.AF_UNIX, FACTS["socket"])


@effect
def unix_abstract_socket() -> None:
    connect(socket.AF_UNIX, "\0" + FACTS["abstract"])


# names that run by themselves


@effect
def git_hooks_write() -> None:
    put(WORKSPACE / ".git/hooks/pre-commit")


@effect
def git_config_write() -> None:
    put(WORKSPACE / ".git/config", "a")


@effect
def editor_settings_create() -> None:
    (WORKSPACE / ".vscode").mkdir(exist_ok=True)
    put(WORKSPACE / ".vscode/settings.json")


@effect
def hook_by_parent_rename() -> None:
    (WORKSPACE / ".git").rename(WORKSPACE / ".git_old")
    (WORKSPACE / ".git/hooks").mkdir(parents=True)
    put(WORKSPACE / ".git/hooks/post-commit")


# the box itself


def _mount_tmpfs() -> None:
    call(NUMBERS["unshare"], ctypes.c_long(0x20000))
    call(NUMBERS["mount"], b"none", b"/mnt", b"tmpfs", ctypes.c_ulong(0), None)


def _remount_root() -> None:
    call(NUMBERS["unshare"], ctypes.c_long(0x20000))
    call(NUMBERS["mount"], None, b"/", None, ctypes.c_ulong(16384 | (1 << 18)), None)
    call(NUMBERS["mount"], None, b"/", None, ctypes.c_ulong(32 | 0x1000), None)
    put(OUTSIDE / "remounted")


@effect
def mount_tmpfs() -> None:
    in_child(_mount_tmpfs)


@effect
def remount_root_rw() -> None:
    in_child(_remount_root)


@effect
def userns_new() -> None:
    in_child(lambda: call(NUMBERS["unshare"], ctypes.c_long(0x10000000)))


@effect
def raw_disk_read() -> None:
    os.close(os.open(FACTS["disk"], os.O_RDONLY))


@effect
def mknod_block_read() -> None:
    os.mknod(WORKSPACE / "block", 0o060600, os.makedev(*FACTS["disk_numbers"]))
    os.close(os.open(WORKSPACE / "block", os.O_RDONLY))


@effect
def core_pattern_open_w() -> None:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@effect
def sysrq_open_w() -> object:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return (Path("/proc/sysrq-trigger").is_char_device() and "an empty device") or None


@effect
def open_by_handle_rw() -> None:
    handle = ctypes.create_string_buffer(struct.pack("II", 128, 0) + b"\0" * 128)
    number = ctypes.c_int()
    name = ctypes.c_char_p(os.fsencode(OUTSIDE / "existing"))
    call(NUMBERS["name_to_handle"], ctypes.c_int(-100), name, handle, ctypes.byref(number), ctypes.c_int(0))
    place = os.open(OUTSIDE, os.O_RDONLY)
    try:
        os.close(call(NUMBERS["open_by_handle"], ctypes.c_int(place), handle, ctypes.c_int(os.O_RDWR)))
    finally:
        os.close(place)


@effect
def io_uring() -> None:
    os.close(call(425, ctypes.c_uint(4), ctypes.create_string_buffer(120)))


@effect
def int80_table() -> object:
    if not X86:
        return "no such table"
    child = os.fork()
    if child == 0:
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid by the 32-bit table
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        os._exit(0)
    state = os.waitpid(child, 0)[1]
    return None if state == 0 else f"signal {state & 127}"


@effect
def fd_leak() -> object:
    names = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd") if int(name) > 2]
    found = [os.readlink(name) for name in names if os.path.exists(name)]
    return None if [name for name in found if not name.startswith("/proc/")] else "none"


@effect
def preexisting_hardlink_write() -> None:
    put(WORKSPACE / "prelinked", "a")


if __name__ == "__main__":
    print(json.dumps({name: attempt(function) for name, function in EFFECTS.items()}))
