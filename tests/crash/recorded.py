"""The system calls that a real process made below one folder, as `strace` saw them, played on a disk in memory.

What comes out is the list of calls that the power cuts are tried on: so it can be held to that of the same work on the
disk in memory, and cut like it. A call that this does not know, or that could not be played, is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from acp_server.persistence.io_port import OpenMode
from acp_server.persistence.paths import CATALOG_NAME
from tests.crash.disk import Disk

CALLS: Final = (
    *("openat", "close", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"),
    *("rmdir", "fsync", "fdatasync", "ftruncate", "truncate", "write", "pwrite64", "writev", "pwritev", "flock"),
    *("sendfile", "copy_file_range", "fallocate"),
)
LONGEST: Final = 8 << 20
"""Bytes of one text that strace writes down."""
_LINE: Final = re.compile(r"^(\d+) +(.*)$")
_CALL: Final = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(?: .*)?$", re.DOTALL)
_BEGUN: Final = re.compile(r"^(\w+)\((.*) <unfinished \.\.\.>$", re.DOTALL)
_RESUMED: Final = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$", re.DOTALL)
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


def why_not() -> str | None:
    """Try it; return why nothing can be recorded here, or None."""
    strace = shutil.which("strace")
    if strace is None:
        return "there is no strace"
    command = (strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat", "true")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return None if done.returncode == 0 else f"strace may not trace here: {done.stderr.strip()[:200]}"


def record(
    command: Sequence[str], trace: Path, *, environment: Mapping[str, str], cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run the command with its calls written down."""
    traced = ("strace", "-f", "-qq", "-xx", "-s", str(LONGEST), "-e", f"trace={','.join(CALLS)}", "-e", "signal=none")
    return subprocess.run(
        (*traced, "-o", str(trace), *command),
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


class Recording:
    """Plays what happens to `home` and below its `sessions` on a disk, where it is called `place`.

    `said` gets what is written anywhere else. The cache of the list is none of the log's matter, and is passed over.
    """

    def __init__(self, home: str, place: str, said: Callable[[Disk, bytes], None]) -> None:
        self.disk = Disk()
        self.disk.make_dir(place)
        self.disk.sync_dir("/")
        self._home, self._place = home, place
        self._said = said
        self._open: dict[int, int | str] = {}
        """By descriptor: a handle of the disk, or the path of a directory."""

    def play(self, trace: Path) -> Disk:
        """Return the disk once all is played."""
        for name, arguments, result in calls(trace):
            if result >= 0:
                self._play(name, arguments, result)
        return self.disk

    def _play(self, name: str, arguments: str, result: int) -> None:
        texts = [bytes.fromhex(text.replace("\\x", "")) for text, _ in _TEXT.findall(arguments)]
        descriptor = int(arguments.split(",", 1)[0]) if re.match(r"\d", arguments) else -1
        if name == "write" and descriptor not in self._open:
            self._said(self.disk, texts[0][:result])
        elif name == "openat":
            self._opened(texts[0].decode(), arguments, result)
        elif descriptor in self._open:
            self._on_open(name, descriptor, arguments, texts)
        else:
            paths = [self._inside(text.decode("utf-8", "surrogateescape")) for text in texts]
            if any(path is not None for path in paths):
                self._on_paths(name, [path for path in paths if path is not None], arguments)

    def _opened(self, path: str, arguments: str, result: int) -> None:
        self._open.pop(result, None)
        inside = self._inside(path)
        if inside is None:
            return
        if "O_DIRECTORY" in arguments:
            self._open[result] = inside
            return
        mode: OpenMode = "read"
        if "O_CREAT" in arguments:
            mode = "create" if "O_EXCL" in arguments else "lock"
        elif "O_RDWR" in arguments or "O_WRONLY" in arguments:
            mode = "write"
        self._open[result] = self.disk.open(inside, mode)

    def _on_open(self, name: str, descriptor: int, arguments: str, texts: Sequence[bytes]) -> None:
        held = self._open[descriptor]
        match name:
            case "close":
                del self._open[descriptor]
                if isinstance(held, int):
                    self.disk.close(held)
            case "fsync" | "fdatasync" if isinstance(held, str):
                self.disk.sync_dir(held)
            case "fsync" | "fdatasync" if isinstance(held, int):
                self.disk.sync(held)
            case "pwrite64" if isinstance(held, int):
                self.disk.write(held, texts[0], int(arguments.rsplit(",", 1)[1]))
            case "ftruncate" if isinstance(held, int):
                self.disk.truncate(held, int(arguments.rsplit(",", 1)[1]))
            case "flock" if isinstance(held, int):
                assert self.disk.lock(held)
            case _:
                raise AssertionError(f"{name} of a file of the store is not known: {arguments[:200]}")

    def _on_paths(self, name: str, paths: Sequence[str], arguments: str) -> None:
        match name, paths:
            case "mkdir" | "mkdirat", [path]:
                assert self.disk.make_dir(path)
            case "rename" | "renameat" | "renameat2", [source, target]:
                self.disk.rename(source, target)
            case "link" | "linkat", [source, target]:
                self.disk.link(source, target)
            case "unlink" | "unlinkat", [path] if "AT_REMOVEDIR" not in arguments:
                self.disk.unlink(path)
            case "rmdir", [path]:
                self.disk.remove_dir(path)
            case _:
                raise AssertionError(f"{name} in the store is not known: {arguments[:200]}")

    def _inside(self, path: str) -> str | None:
        """Return the path on the disk, None for one that does not count."""
        store = f"{self._home}/sessions"
        if path not in (self._home, store) and not path.startswith(f"{store}/"):
            return None
        return None if path.startswith(f"{store}/{CATALOG_NAME}") else self._place + path[len(self._home) :]


def calls(trace: Path) -> Iterator[tuple[str, str, int]]:
    """Iterate over the calls in the order of their ends: name, arguments, result."""
    begun: dict[str, str] = {}
    for line in trace.read_text("ascii").splitlines():
        found = _LINE.match(line)
        assert found is not None, line[:200]
        process, words = found.groups()
        if half := _BEGUN.match(words):
            begun[process] = f"{half[1]}({half[2]}"
            continue
        if rest := _RESUMED.match(words):
            words = begun.pop(process) + rest[2]
        if whole := _CALL.match(words):
            yield whole[1], whole[2], int(whole[3])
