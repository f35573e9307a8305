"""Somebody swaps folders for links that lead out, all the time, while the fence reads and writes: nothing gets out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_server.base.errors import ServerError
from acp_server.sandbox import openat
from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Fence
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.roots import Roots

ATTEMPTS = int(os.environ.get("ACP_SERVER_TEST_RACES", "20000"))
SECONDS = 120

RACER = """
import ctypes, os, sys
swapped, link, target = map(os.fsencode, sys.argv[1:])
os.symlink(target, link)
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    exchange(-100, swapped, -100, link, 2)
"""
"""Both names are always there, and each is in turn what it was and a link that leads out."""


EDITOR = """
import os, sys
print("ready", flush=True)
while True:
    with open(sys.argv[1] + "~", "wb") as file:
        file.write(b"t" * 50000)
    os.replace(sys.argv[1] + "~", sys.argv[1])
"""


@contextmanager
def racing(swapped: Path, target: Path) -> Iterator[None]:
    argv = [sys.executable, "-I", "-S", "-c", RACER, str(swapped), f"{swapped}_link", str(target)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as racer:
        assert racer.stdout is not None
        assert racer.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            racer.kill()


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Path, Path, Fence]:
    base = tmp_path.resolve()
    workspace, outside = base / "ws", base / "outside"
    (workspace / "d").mkdir(parents=True)
    (base / "home").mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"SECRET")
    host = Host(home=str(base / "home"), user="ada", state=str(base / "state"), own=(str(base / "state"),))
    return workspace, outside, Fence(Roots((str(workspace),)), Policy("workspace-write", str(workspace)), host)


@pytest.mark.parametrize("way", ["openat2", "walk"])
def test_no_write_lands_outside(scene: tuple[Path, Path, Fence], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, outside, fence = scene
    attempts = ATTEMPTS
    if way == "walk":
        monkeypatch.setattr(openat, "has_openat2", lambda: False)
        attempts = ATTEMPTS // 10
    monkeypatch.setattr(os, "fsync", lambda _: None)  # what is tried is the way to the file, not the disk
    written = refused = 0
    end = time.monotonic() + SECONDS
    with racing(workspace / "d", outside):
        for number in range(attempts):
            try:
                fence.write_atomic(f"{workspace}/d/f{number % 50}", b"x")
                written += 1
            except ServerError:
                refused += 1
            assert time.monotonic() < end
    assert ([path.name for path in outside.iterdir()], (outside / "secret").read_bytes()) == (["secret"], b"SECRET")
    assert written + refused == attempts
    assert written > 0
    assert refused > 0


def test_no_read_comes_from_outside(scene: tuple[Path, Path, Fence]) -> None:
    workspace, outside, fence = scene
    (workspace / "d/f").write_bytes(b"inside")
    read: set[bytes] = set()
    end = time.monotonic() + SECONDS
    with racing(workspace / "d/f", outside / "secret"):
        for _ in range(ATTEMPTS):
            try:
                read.add(fence.read(f"{workspace}/d/f", 100).data)
            except ServerError:
                continue
            assert time.monotonic() < end
    assert read == {b"inside"}


def test_a_writer_beside_us_and_we_never_mix(scene: tuple[Path, Path, Fence]) -> None:
    workspace, _, fence = scene
    file = workspace / "d/shared"
    theirs = b"t" * 50_000
    file.write_bytes(theirs)
    writer = [sys.executable, "-I", "-S", "-c", EDITOR, str(file)]
    with subprocess.Popen(writer, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        assert other.stdout is not None
        other.stdout.readline()
        found = set()
        for _ in range(300):
            fence.write_atomic(str(file), b"m" * 50_000)
            read = fence.read(str(file), 100_000)
            found.add((len(read.data), frozenset(read.data)))
        other.kill()
    assert found <= {(50_000, frozenset(b"m")), (50_000, frozenset(b"t"))}
