"""Starts the server in a web of its own: each name leads to loopback, and each look-up is told to whoever waits there.

Started by path, with the server's arguments; INNER_WEB is the port of the collector. Everything else is the server as
it is: what consent and the texts of addresses decide happens before any name is looked up.
"""

from __future__ import annotations

import os
import socket
import sys

sys.path.pop(0)  # this folder has names of its own

from acp_server.__main__ import main
from acp_server.tools.web_get import WebClient
from acp_server.tools.web_search import BraveSearch

PORT = int(os.environ.pop("INNER_WEB"))


def looked_up(host: str, _port: int) -> list[str]:
    """Tell that the name was looked up, as a name server would learn; return loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as told:
        told.sendto(f"name {host}".encode(), ("127.0.0.1", PORT))
    return ["127.0.0.1"]


def open_up() -> None:
    """Let the client of the web reach loopback, at any port."""
    WebClient.__init__.__kwdefaults__ = {
        **(WebClient.__init__.__kwdefaults__ or {}),
        "public": lambda _address: True,
        "ports": frozenset(range(65536)),
        "resolve": looked_up,
    }
    BraveSearch.__init__.__defaults__ = (f"http://search.example:{PORT}/page",)


if __name__ == "__main__":
    open_up()
    sys.exit(main())
