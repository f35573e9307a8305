"""Fetching over TLS: the certificate is the host's, by an authority that the machine trusts (docs/web.md, A-3)."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from acp_server.base.cancel import CancelToken
from acp_server.tools.tool import ToolError
from acp_server.tools.web_address import web_address
from acp_server.tools.web_get import WebClient
from tests.support.certificates import Authority


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response_only(200)
        self.send_header("content-type", "text/plain")
        self.end_headers()
        self.wfile.write(f"over {self.headers['Host'].partition(':')[0]}".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients that turn away are what the tests are about."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def port(authority: Authority) -> Iterator[int]:
    """A server whose certificate is that of site.test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate("site.test"))
    server = Quiet(("127.0.0.1", 0), Page)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


async def got(host: str, port: int) -> str:
    web = WebClient(public=lambda _one: True, ports=frozenset({port}), resolve=lambda _host, _port: ["127.0.0.1"])
    try:
        return (await web.get(web_address(f"https://{host}:{port}/"), CancelToken())).body.decode()
    except ToolError as error:
        return error.code


async def test_a_certificate_counts_for_its_host_by_an_authority_that_is_trusted(
    authority: Authority, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await got("site.test", port) == "FETCH_FAILED"
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert await got("site.test", port) == "over site.test"
    assert await got("other.test", port) == "FETCH_FAILED"
