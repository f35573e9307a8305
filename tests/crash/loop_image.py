"""A real file system on a loop image, whose power is cut under a writer. Needs root, loop devices and mkfs.ext4.

The cut is FS_IOC_SHUTDOWN without a flush of the journal: the kernel keeps nothing that no sync has covered. As a
program of its own this is the writer: `ROOT [unsynced]`, which says `ACK seq nanoseconds` until the disk is gone.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from shutil import copyfile, which
from typing import Final

from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from tests.crash.maker import ROOT as REPOSITORY
from tests.crash.maker import broken_promise, store_at
from tests.crash.writer import HEADER, batch

SHUTDOWN: Final = 0x8004587D
"""FS_IOC_SHUTDOWN of linux/fs.h and fs/ext4/ext4.h."""
WITHOUT_FLUSH: Final = 2
SIZE: Final = 24 * 1024 * 1024
LONGEST_SECONDS: Final = 0.06
TRIES: Final = 40
PAUSE_SECONDS: Final = 0.25


class Unsynced(PosixIo):
    """A disk that says it has synced and has not: a campaign that loses nothing on it proves nothing."""

    def sync(self, handle: int) -> None:
        """Do nothing."""

    def sync_dir(self, path: str) -> None:
        """Do nothing."""


def why_not(folder: Path) -> str | None:
    """Try a cut; return why none can be made here, or None."""
    if os.geteuid() != 0:
        return "only root can mount"
    if which("mkfs.ext4") is None:
        return "mkfs.ext4 is missing"
    try:
        cut_power(folder, Random(0))
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no image can be mounted and shut down here: {error}"
    return None


@contextmanager
def mounted(image: Path, point: Path) -> Iterator[None]:
    """Mount an image for a while."""
    _insist("mount", "-o", "loop", str(image), str(point))
    try:
        yield
    finally:
        _insist("umount", str(point))


def _insist(*words: str) -> None:
    """Run a command, again for a while when it fails: others take loop devices too, and the last one goes late."""
    for _ in range(TRIES):
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return
        time.sleep(PAUSE_SECONDS)
    raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def cut_power(folder: Path, random: Random, *, synced: bool = True) -> str | None:
    """Make a file system, cut its power under a writer, and return which promise is broken when it is back.

    It comes back from a copy of the image: while anybody's namespace still has the first one mounted, a second mount
    of the same file would be the dead file system again.
    """
    image, after, point = folder / "image", folder / "after", folder / "mounted"
    point.mkdir(exist_ok=True)
    for old in (image, after):
        old.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(SIZE)
    command = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(image)]
    subprocess.run(command, check=True, capture_output=True)
    with mounted(image, point):
        promised = _write_until_cut(point, random, synced=synced)
    copyfile(image, after)
    with mounted(after, point):
        return broken_promise(point / "sessions", promised)


def _write_until_cut(point: Path, random: Random, *, synced: bool) -> int:
    """Return the last event that was promised before the cut began; one told meanwhile proves nothing."""
    words = [sys.executable, "-m", "tests.crash.loop_image", str(point / "sessions"), *([] if synced else ["unsynced"])]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline()]
        time.sleep(random.uniform(0, LONGEST_SECONDS))
        handle = os.open(point, os.O_RDONLY)
        cut = time.monotonic_ns()
        try:
            fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(handle)
            said += writer.stdout.read().splitlines()
    promised = -1
    for line in said:
        _, seq, moment = line.split()
        promised = max(promised, int(seq) if int(moment) < cut else -1)
    return promised


def write(root: str, io: PosixIo) -> None:
    """Begin a session and write batches until the disk refuses."""
    files, seq, number = store_at(Path(root), io).fresh(HEADER), 0, 0
    with suppress(PersistenceError):
        while True:
            events = batch(seq, number)
            files.commit(events)
            seq, number = seq + len(events), number + 1
            os.write(1, f"ACK {seq - 1} {time.monotonic_ns()}\n".encode())


if __name__ == "__main__":
    write(sys.argv[1], Unsynced() if sys.argv[2:] == ["unsynced"] else PosixIo())
