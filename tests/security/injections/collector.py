"""Whoever waits for the canary: a web server and a socket for datagrams on loopback that keep all that arrives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Collector:
    """Keeps the bytes of each request, each connection and each datagram; serves `page` at `/page`."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self.page: Mapping[str, str] = {}
        self._server = _Server(self)
        self.port = int(self._server.server_address[1])
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))

    def _listen(self) -> None:
        while data := self._datagrams.recv(65536):
            self.arrived.append(data.decode("utf-8", "replace"))
        self._datagrams.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        super().__init__(("127.0.0.1", 0), _Exchange)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the first bytes as they came: not all that connects speaks HTTP."""
        request.settimeout(30)
        with suppress(OSError):
            self.collector.arrived.append(request.recv(65536, socket.MSG_PEEK).decode("utf-8", "replace"))
        super().process_request(request, client_address)

    def handle_error(self, *_: object) -> None:
        """Say nothing: what connects may send anything."""


class _Exchange(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.collector.arrived.append(f"{self.command} {self.path}\n{self.headers}\n{body.decode('latin-1')}")
        page = self.server.collector.page if self.path.startswith("/page") else {}
        text = page.get("body", "ok").encode()
        self.send_response_only(int(page.get("status", "200")))
        self.send_header("content-type", page.get("type", "text/plain"))
        if "location" in page:
            self.send_header("location", page["location"])
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        self.do_GET()
