"""Inside of a box: a port of its loopback that leads to the one socket that leads out; then the command.

Its text is given to `python -I -S -c`, with the socket, the port and the command as arguments. The relay ends with the
box. Uses nothing of ours.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
from typing import Final

_CHUNK: Final = 1 << 16
_PAIRS_MOST: Final = 64


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
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                _accept(ready, listener, path)
            elif isinstance(key.fileobj, socket.socket):
                _pass(ready, key.fileobj, key.data)


def _accept(ready: selectors.BaseSelector, listener: socket.socket, path: str) -> None:
    near, _ = listener.accept()
    if len(ready.get_map()) > 2 * _PAIRS_MOST:
        near.close()
        return
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(path)
    except OSError:
        near.close()
        far.close()
        return
    ready.register(near, selectors.EVENT_READ, far)
    ready.register(far, selectors.EVENT_READ, near)


def _pass(ready: selectors.BaseSelector, source: socket.socket, target: socket.socket) -> None:
    """Pass on what there is. The end of one direction is told; the end of the far side ends both."""
    try:
        data = source.recv(_CHUNK)
        if data:
            target.sendall(data)
            return
        target.shutdown(socket.SHUT_WR)
        if source.family != socket.AF_UNIX:
            ready.unregister(source)
            return
    except OSError:
        pass
    for plug in (source, target):
        if plug.fileno() in ready.get_map():
            ready.unregister(plug)
        plug.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
