"""What the kernel says about a process and its children: processor time, memory, whether anything is left. Linux."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def family(pid: int) -> list[int]:
    """Return the process and all that descend from it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            waiting.extend(int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
    return found


def cpu_us(pid: int) -> float:
    """Return the processor time of the process and its living children, ended threads included, in microseconds."""
    return sum(_clock(one) for one in family(pid)) / 1000


def memory_mb(pid: int) -> float:
    """Return the resident memory of the process and its children in MB (2^20 bytes)."""
    return sum(_resident(one) for one in family(pid)) / 2**20


def alive(pid: int) -> bool:
    """Return whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


def _clock(pid: int) -> int:
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # the kernel's clock id of another process's processor time
    except OSError:
        return 0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
