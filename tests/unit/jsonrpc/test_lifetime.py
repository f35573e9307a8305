"""Signals and the death of the parent, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acp_server.jsonrpc import lifetime
from acp_server.jsonrpc.lifetime import Lifetime

ROOT = Path(__file__).resolve().parents[3]

SERVER = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from acp_server.jsonrpc import lifetime
lifetime.POLL_SECONDS = 0.01
{before}
async def main():
    told = asyncio.get_running_loop().create_future()
    def stop(cause):
        print(cause, flush=True)
        if {leave}: told.set_result(None)
    def hard(number):
        print("hard", number, flush=True)
        os._exit(3)
    watch = lifetime.Lifetime(os.getppid(), stop, hard)
    watch.start()
    print("ready", flush=True)
    await told
    watch.end()
    watch.end()
    print(watch.signal, flush=True)
asyncio.run(main())
"""


def server(*, leave: bool = True, before: str = "") -> list[str]:
    return [sys.executable, "-S", "-E", "-c", SERVER.format(root=str(ROOT), leave=leave, before=before)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_told(number: signal.Signals) -> None:
    with subprocess.Popen(server(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == (f"signal\n{number.value}\n", "", 0)


def test_a_second_signal_is_hard() -> None:
    command = server(leave=False)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "signal\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("hard 2\n", "", 3)


@pytest.mark.parametrize("before", ["", "del os.pidfd_open"], ids=["pidfd", "poll"])
def test_the_death_of_the_parent_is_told_though_the_input_stays_open(before: str) -> None:
    if before and not hasattr(os, "pidfd_open"):
        before = ""
    parent = "import subprocess, sys; subprocess.Popen(sys.argv[1:]); sys.stdin.read()"
    command = [sys.executable, "-S", "-E", "-c", parent, *server(before=before)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "ready\n"
        editor.kill()
        assert editor.stdout.read() == "orphan\nNone\n"


async def test_a_parent_that_changed_before_the_start_is_told_at_once() -> None:
    told: list[str] = []
    watch = Lifetime(os.getppid() + 1_000_000_000, told.append, lambda _: None)
    watch.start()
    watch.end()
    assert told == ["orphan"]


@pytest.mark.parametrize("parent", [0, 1])
async def test_init_is_not_watched(parent: int) -> None:
    told: list[str] = []
    watch = Lifetime(parent, told.append, lambda _: None)
    watch.start()
    assert (told, watch._pidfd, watch._poll) == ([], None, None)
    watch.end()


async def test_a_living_parent_is_watched_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_open_process", lambda _: None)
    told: list[str] = []
    watch = Lifetime(os.getppid(), told.append, lambda _: None)
    watch.start()
    timer = watch._poll
    assert timer is not None
    watch.end()
    assert (told, timer.cancelled()) == ([], True)
