"""What take_over leaves behind, seen from processes started with every kind of standard descriptor."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = r"""
import os, sys
sys.path.insert(0, ROOT)
{before}
from acp_server.jsonrpc.stdio import take_over
s = take_over()
assert s.in_fd > 2 and s.out_fd > 2 and s.in_fd != s.out_fd
assert not os.get_inheritable(s.in_fd) and not os.get_inheritable(s.out_fd)
assert all(os.get_inheritable(fd) for fd in (0, 1, 2))
assert os.fstat(1).st_ino == os.fstat(2).st_ino
assert os.read(0, 10) == b""
os.write(1, b"stray\n")
os.system("echo child; cat")
data = os.read(s.in_fd, 100)
os.write(s.out_fd, b"got " + data)
"""


def script(before: str = "") -> list[str]:
    source = SCRIPT.replace("{before}", before).replace("ROOT", repr(str(ROOT)))
    return [sys.executable, "-S", "-E", "-c", source]


def test_with_pipes() -> None:
    done = subprocess.run(script(), input=b"hello", capture_output=True, timeout=20, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (b"got hello", b"stray\nchild\n", 0)


def test_with_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"hello")
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        done = subprocess.run(script(), stdin=given, stdout=taken, stderr=subprocess.PIPE, timeout=20, check=False)
    assert ((tmp_path / "out").read_bytes(), done.stderr) == (b"got hello", b"stray\nchild\n")


def test_with_the_null_device() -> None:
    done = subprocess.run(
        script(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20, check=False
    )
    assert (done.stderr, done.returncode) == (b"stray\nchild\n", 0)


def test_with_one_socket_for_both() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"hello")
        fd = theirs.fileno()
        done = subprocess.run(script(), stdin=fd, stdout=fd, stderr=subprocess.PIPE, timeout=20, check=False)
        assert (ours.recv(100), done.stderr) == (b"got hello", b"stray\nchild\n")


def test_with_a_terminal() -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"hello\n")
    done = subprocess.run(script(), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=20, check=False)
    os.close(theirs)
    shown = os.read(ours, 1000)
    os.close(ours)
    assert (shown.endswith(b"got hello\r\n"), done.stderr) == (True, b"stray\nchild\n")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_with_closed_descriptors(closed: tuple[int, ...]) -> None:
    before = "".join(f"os.close({fd});" for fd in closed)
    done = subprocess.run(script(before), input=b"hello", capture_output=True, timeout=20, check=False)
    wanted = b"" if 1 in closed else b"got " if 0 in closed else b"got hello"
    assert (done.returncode, done.stdout) == (0, wanted)
    assert done.stderr == (b"" if 2 in closed else b"stray\nchild\n")
