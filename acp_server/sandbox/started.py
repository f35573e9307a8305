"""One command that runs: its processes, its output as it comes, and its certain end.

Owns signals and descriptors. A box is ended by ending its first process, which ends everything in it; a command
without a box carries a word in its environment by which whatever it left is found.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.sandbox.confine import ConfinedCommand
from acp_server.sandbox.limits import Limits
from acp_server.sandbox.output import Captured
from acp_server.sandbox.readable import ReadableText
from acp_server.sandbox.strays import MARK, end_strays

NICENESS: Final = 5
"""Commands yield to the server and the editor."""

_READ_BYTES: Final = 1 << 16
_DRAIN_SECONDS: Final = 0.25
_POLL_SECONDS: Final = 0.02
_NOT_STARTED: Final = frozenset({1, 125})


@value
class Pipes:
    """Descriptors that a command gets as its input and its output; whoever gives them closes them."""

    stdin: int
    stdout: int


class Started:
    """A command from its start to the moment when nothing of it is left."""

    def __init__(
        self,
        command: ConfinedCommand,
        limits: Limits,
        *,
        spill: str | None = None,
        on_output: Callable[[str], None] | None = None,
        pipes: Pipes | None = None,
    ) -> None:
        """Start it. With `pipes` its output is what it writes to stderr.

        Raises:
            ServerError: SANDBOX_FAILED when its first program cannot be started; the command is closed then.
        """
        self._command = command
        self._limits = limits
        self._spill_path = spill
        self._spill: int | None = None
        self._on_output = on_output
        self._pipes = pipes
        self._text = ReadableText()
        self._whole = ReadableText()
        self._loop = asyncio.get_running_loop()
        self._token = secrets.token_hex(16)
        self._status_text = b""
        self._facts: dict[str, object] = {}
        self._box: int | None = None
        self._box_pid: int | None = None
        self._output_end = asyncio.Event()
        self.captured = Captured(limits.head_bytes, limits.tail_bytes)
        self.flooded = asyncio.Event()
        self.killed = False
        self.changed: tuple[str, ...] = ()
        self.start_time = self._loop.time()
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        try:
            self._process = self._spawn(write)
        except OSError as error:
            os.close(self._read)
            command.close()
            raise ServerError("SANDBOX_FAILED", f"The command could not be started: {error.strerror}.") from error
        finally:
            os.close(write)
        command.started()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
        self._loop.add_reader(self._read, self._take_output)
        if command.status is not None:
            os.set_blocking(command.status, False)
            self._loop.add_reader(command.status, self._take_status)

    def _spawn(self, output: int) -> subprocess.Popen[bytes]:
        environment = {**self._command.environment}
        if self._command.kind == "none":
            environment[MARK] = self._token
        return subprocess.Popen(  # noqa: S603 - running what it is given is its purpose
            self._command.argv,
            cwd=self._command.cwd,
            env=environment,
            stdin=subprocess.DEVNULL if self._pipes is None else self._pipes.stdin,
            stdout=output if self._pipes is None else self._pipes.stdout,
            stderr=output,
            pass_fds=self._command.descriptors,
            start_new_session=True,
        )

    async def ended(self) -> int:
        """Return the exit code, negative for a signal, once no process of the command is left and all output is read.

        Raises:
            ServerError: SANDBOX_FAILED when the box could not be built, so that the command never ran.
        """
        try:
            code = await self._exit_code()
            await self._box_end()
            if self._command.kind == "none":
                end_strays(self._token)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._output_end.wait(), _DRAIN_SECONDS)
        finally:
            self._close()
        return self._verdict(code)

    def terminate(self) -> None:
        """Ask every process of the command's own group to end."""
        group = self._group()
        if group is not None:
            with suppress(OSError):
                os.killpg(group, signal.SIGTERM)

    def kill(self) -> None:
        """End it, whatever it does."""
        self.killed = True
        if self._command.kind == "landlock":
            self._process.send_signal(signal.SIGTERM)  # the launcher ends what it has started, then itself
            return
        if self._box is not None:
            with suppress(OSError):
                signal.pidfd_send_signal(self._box, signal.SIGKILL)
        elif self._command.kind == "none":
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            end_strays(self._token)
        self._process.kill()

    def _group(self) -> int | None:
        self._take_status()
        if self._command.kind == "none":
            return self._process.pid
        named = self._facts.get("session", self._facts.get("child-pid"))
        try:
            group = os.getpgid(named) if isinstance(named, int) else None
        except OSError:
            return None
        return group if group != os.getpgrp() else None

    async def _exit_code(self) -> int:
        ended = asyncio.Event()
        descriptor = _pidfd(self._process.pid)
        if descriptor is None:
            while self._process.poll() is None:  # noqa: ASYNC110 - a system without descriptors of processes
                await asyncio.sleep(_POLL_SECONDS)
        else:
            self._loop.add_reader(descriptor, ended.set)
            try:
                await ended.wait()
            finally:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
        return self._process.wait()

    async def _box_end(self) -> None:
        """Wait until the box's first process is gone; that is after everything in the box is."""
        self._take_status()
        if self._box is None:
            return
        ended = asyncio.Event()
        self._loop.add_reader(self._box, ended.set)
        try:
            await ended.wait()
        finally:
            self._loop.remove_reader(self._box)

    def _take_output(self) -> None:
        try:
            data = os.read(self._read, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._read)
            self._output_end.set()
            return
        if self.flooded.is_set():
            return
        self.captured.add(data)
        self._spill_out(data)
        if self.captured.total >= self._limits.spill_bytes:
            self.flooded.set()
        if self._on_output is not None:
            self._on_output(self._text.feed(data))

    def _spill_out(self, data: bytes) -> None:
        if self._spill_path is None or self.captured.total <= self._limits.spill_after_bytes:
            return
        try:
            if self._spill is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._spill = os.open(self._spill_path, flags, 0o600)
                data = self.captured.kept()
            self._write_out(self._whole.feed(data))
        except OSError:
            self._spill_path = None  # a full disk costs the file, not the command

    def _write_out(self, text: str) -> None:
        data = text.encode()
        while data and self._spill is not None:
            data = data[os.write(self._spill, data) :]

    @property
    def spill(self) -> str | None:
        """Return the path of the file with all of the output, if there is one."""
        return self._spill_path if self._spill is not None else None

    def _take_status(self) -> None:
        if self._command.status is None:
            return
        with suppress(BlockingIOError):
            while data := os.read(self._command.status, 4096):
                self._status_text += data
            self._loop.remove_reader(self._command.status)
        *lines, self._status_text = self._status_text.split(b"\n")
        for line in lines:
            self._facts |= json.loads(line)
        child = self._facts.get("child-pid")
        if self._box_pid is None and isinstance(child, int) and self._command.kind != "landlock":
            self._box_pid = child
            self._box = _pidfd(child)
            if self._command.gate is not None:
                self._command.gate.open(child)

    def _verdict(self, code: int) -> int:
        told = self._facts.get("exit-code")
        if self._command.status is None or isinstance(told, int):
            return told if isinstance(told, int) else code
        if self.killed:
            return -signal.SIGKILL
        if code in _NOT_STARTED:
            said = self._facts.get("error") or self.captured.output(None).text.strip().rpartition("\n")[2]
            raise ServerError("SANDBOX_FAILED", f"The sandbox could not be built, so the command did not run: {said}")
        return code

    def _close(self) -> None:
        for descriptor in (self._read, self._command.status):
            if descriptor is not None:
                self._loop.remove_reader(descriptor)
        os.close(self._read)
        if self._on_output is not None and (rest := self._text.end()):
            self._on_output(rest)
        if self.spill is not None:
            with suppress(OSError):
                self._write_out(self._whole.end())
        for held in (self._box, self._spill):
            if held is not None:
                os.close(held)
        self._box = None
        self.changed = self._command.close()


def _pidfd(pid: int) -> int | None:
    """Return a descriptor of a process, or None when it is gone or the system has none."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None
