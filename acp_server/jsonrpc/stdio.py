"""The process's standard descriptors, taken over for the protocol.

After `take_over` nothing but the protocol's own code can reach the pipes of the client: fd 1 is where fd 2 points, so
that a stray print, a C extension or a child process writes to stderr, and fd 0 is the null device, so that a child
process eats no input. On the start path: imports os alone.
"""

from __future__ import annotations

import os

_FIRST_PRIVATE = 3


class Stdio:
    """The private descriptors of the protocol; children do not inherit them."""

    __slots__ = ("in_fd", "out_fd")

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self.in_fd)
        os.close(self.out_fd)


def take_over() -> Stdio:
    """Move stdin and stdout to private descriptors and return these.

    Standard descriptors that are closed are opened on the null device first: a closed stdin is an empty one, what a
    closed stdout or stderr would get is dropped. Works for pipes, sockets, files, terminals and devices alike.
    """
    for fd in (0, 1, 2):
        _open_if_closed(fd)
    in_fd = _private_copy(0)
    out_fd = _private_copy(1)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return Stdio(in_fd, out_fd)


def _open_if_closed(fd: int) -> None:
    """The lowest free descriptor is the one that open returns; those below `fd` are open."""
    try:
        os.fstat(fd)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - os takes it by position


def _private_copy(fd: int) -> int:
    """Return a close-on-exec copy; the standard descriptors are open, so it is 3 or higher."""
    copy = os.dup(fd)
    if copy < _FIRST_PRIVATE:
        raise OSError(f"descriptor {copy} was closed while stdio was being taken over")
    return copy
