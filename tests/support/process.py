"""An agent's process: raw bytes in, raw lines out, signals, and what it leaves behind.

Knows nothing of the protocol beyond lines that end at 0x0A.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.support.trace import Frame, Trace

MARK = "ACP_TEST_MARK"
"""A variable of the agent's environment by which its descendants are found again."""

CHUNK = 1 << 16
OnLine = Callable[["AgentProcess", Frame], None]


class AgentProcess:
    """One process. Each line it writes lands in the trace, then goes to `on_line` in the reader's thread."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        trace: Trace,
        proc: int,
        stderr: Path,
        on_line: OnLine,
    ) -> None:
        self.trace, self.proc, self.on_line = trace, proc, on_line
        self.stderr_path = stderr
        self.tail = b""
        """Bytes after the last LF, once stdout has ended."""
        with stderr.open("wb") as err:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                env=dict(env),
                cwd=cwd,
                bufsize=0,
                start_new_session=True,
            )
        self.stdin, self.stdout = _pipe(self.popen.stdin), _pipe(self.popen.stdout)
        os.set_blocking(self.stdin.fileno(), False)
        self._lock, self._stop, self._may_read = threading.Lock(), threading.Event(), threading.Event()
        self._may_read.set()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.popen.pid

    def _read(self) -> None:
        fd, rest = self.stdout.fileno(), bytearray()
        while not self._stop.is_set():
            if not self._may_read.wait(0.05) or not select.select([fd], [], [], 0.05)[0]:
                continue
            data = os.read(fd, CHUNK)
            if not data:
                break
            start = len(rest)
            rest += data
            while (end := rest.find(b"\n", start)) >= 0:
                line = bytes(rest[:end])
                del rest[: end + 1]
                start = 0
                self.on_line(self, self.trace.add(self.proc, "got", line))
        self.tail = bytes(rest)
        self.stdout.close()
        self.trace.poke()

    def write(self, data: bytes, seconds: float = 30.0) -> str | None:
        """Write bytes as they are; return what went wrong, or None."""
        end, fd, left = time.monotonic() + seconds, self.stdin.fileno(), memoryview(data)
        with self._lock:
            while left:
                if time.monotonic() > end:
                    return "the agent does not read its stdin"
                if not select.select([], [fd], [], 0.1)[1]:
                    continue
                try:
                    left = left[os.write(fd, left[:CHUNK]) :]
                except BrokenPipeError:
                    return "the agent closed its stdin"
        return None

    def send(self, line: bytes, *, odd: bool = False) -> str | None:
        """Write one line and record it; return what went wrong, or None."""
        self.trace.add(self.proc, "sent", line, odd=odd)
        return self.write(line + b"\n")

    def pause_reading(self) -> None:
        """Read no more of stdout until `resume_reading`: the pipe fills up."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def waiting_bytes(self) -> tuple[int, int]:
        """Return how much lies in the pipes: input that the agent has not read, output that we have not read."""
        counts = [fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)) for pipe in (self.stdin, self.stdout)]
        unread, unheard = (int.from_bytes(count, sys.byteorder) for count in counts)
        return unread, unheard

    def close_stdin(self) -> None:
        if not self.stdin.closed:
            self.stdin.close()

    def close_stdout(self) -> None:
        """Stop reading and close our end of the agent's stdout."""
        self.trace.excuse(self.proc)
        self._stop.set()
        self._reader.join()
        self.stdout.close()

    def signal(self, name: str) -> None:
        """Send SIG`name`, when the process still runs."""
        self.trace.excuse(self.proc)
        if self.popen.poll() is None:
            self.popen.send_signal(signal.Signals[f"SIG{name}"])

    def wait_exit(self, seconds: float) -> int | None:
        """Return the exit code once all of stdout is read too; None when time is up."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(1)
        return code

    def end(self, seconds: float = 6.0) -> str | None:
        """Close stdin, expect an exit, make sure of it; return what went wrong, or None."""
        self.close_stdin()
        wrong = None
        if self.wait_exit(seconds) is None:
            wrong = f"still running {seconds:.0f} s after stdin was closed"
        self.kill()
        return wrong

    def kill(self) -> None:
        """End the process at once, if it still runs, and close our ends of its pipes."""
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        self._stop.set()
        self._reader.join(1)
        for pipe in (self.stdin, self.stdout):
            pipe.close()

    def stderr(self) -> bytes:
        return self.stderr_path.read_bytes()

    def peak_rss_mib(self) -> float:
        """Return the most resident memory that the process ever had, in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the process has no VmHWM line")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("the process was started without that pipe")
    return pipe


def left_behind(mark: str, seconds: float = 2.0) -> list[str]:
    """Return command lines of live processes that carry the mark, after a grace of so many seconds; they are killed."""
    needle, end = f"{MARK}={mark}".encode(), time.monotonic() + seconds
    while (found := _marked(needle)) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return list(found.values())


def _marked(needle: bytes) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            zombie = " Z " in (entry / "stat").read_text("utf-8", "replace")
            if not zombie and needle in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode("utf-8", "replace").strip()
    return found
