"""Inside of a box: a port of its loopback that leads to the one socket that leads out; then the command.

Its text is given to `python -I -S -c`, with the socket, the port and the command as arguments. The relay ends with the
box. Uses nothing of ours. No connection waits for another, and the end of one direction leaves the other open.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
import time
from contextlib import suppress
from typing import Final

_CHUNK: Final = 1 << 16
_PAIRS_MOST: Final = 64
_LINGER_SECONDS: Final = 10.0


class _Way:
    """One direction of a connection: what was read from one end and is not written to the other."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.held = b""
        self.ended = False
        self.deaf = False

    def move(self) -> None:
        """Write what is held, then read once. A target that takes no more is no reason to stop reading."""
        try:
            if not self.held and not self.ended:
                self._read()
            while self.held:
                self.held = self.held[self.target.send(self.held) :]
        except BlockingIOError:
            return
        except OSError:
            self.held, self.deaf = b"", True

    def _read(self) -> None:
        try:
            data = self.source.recv(_CHUNK)
        except BlockingIOError:
            raise
        except OSError:
            data = b""
        if data:
            self.held = b"" if self.deaf else data
            return
        self.ended = True
        self.target.shutdown(socket.SHUT_WR)


class _Pair:
    """A connection to the port and its connection to the socket."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.there = _Way(near, far)
        self.back = _Way(far, near)
        self.until: float | None = None
        for plug in (near, far):
            plug.settimeout(0.0)

    def move(self, clock: float) -> None:
        """Pass on what there is both ways."""
        self.there.move()
        self.back.move()
        if self.until is None and self.back.ended:
            self.until = clock + _LINGER_SECONDS

    def over(self, clock: float) -> bool:
        """Return whether it is to be closed: both ends have ended, or the near one is gone or too slow to end."""
        if self.back.deaf or (self.there.ended and self.back.ended):
            return True
        return self.until is not None and clock >= self.until

    def watch(self, ready: selectors.BaseSelector) -> None:
        """Wait for what can be done next."""
        for come, go in ((self.there, self.back), (self.back, self.there)):
            events = 0 if come.held or come.ended else selectors.EVENT_READ
            events |= selectors.EVENT_WRITE if go.held else 0
            with suppress(KeyError):
                ready.unregister(come.source)
            if events:
                ready.register(come.source, events, self)

    def close(self, ready: selectors.BaseSelector) -> None:
        """Close both ends."""
        for plug in (self.there.source, self.back.source):
            with suppress(KeyError):
                ready.unregister(plug)
            plug.close()


def main(path: str, port: int, command: list[str]) -> None:
    """Become the command; a child relays."""
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork() == 0:
        nowhere = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        relay(listener, path)
        os._exit(0)
    listener.close()
    os.execvp(command[0], command)  # noqa: S606 - the command is what the box is for


def relay(listener: socket.socket, path: str) -> None:
    """Pass bytes between connections to the port and connections to the socket, for ever."""
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    pairs: set[_Pair] = set()
    while True:
        moved = {key.data for key, _ in ready.select(1.0 if pairs else None)}
        clock = time.monotonic()
        if None in moved:
            _accept(listener, path, pairs, moved)
        for pair in moved - {None}:
            pair.move(clock)
            pair.watch(ready)
        for pair in [pair for pair in pairs if pair.over(clock)]:
            pair.close(ready)
            pairs.discard(pair)


def _accept(listener: socket.socket, path: str, pairs: set[_Pair], moved: set[_Pair | None]) -> None:
    near, _ = listener.accept()
    if len(pairs) >= _PAIRS_MOST:
        near.close()
        return
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(path)
    except OSError:
        near.close()
        far.close()
        return
    pair = _Pair(near, far)
    pairs.add(pair)
    moved.add(pair)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
