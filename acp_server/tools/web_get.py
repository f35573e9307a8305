"""One page of the web, got safely: the address that was judged is the one that is connected to (docs/web.md, A and G).

Owns resolving, connecting, redirects and the limits of size and time. Sends no cookie and no credential of anybody,
and uses no proxy, which would resolve names by itself.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from acp_server import __version__
from acp_server.base.cancel import CancelToken
from acp_server.base.values import value
from acp_server.llm.failure import LlmError
from acp_server.llm.http import tls_context
from acp_server.llm.inflate import inflater
from acp_server.llm.waiting import until
from acp_server.sandbox.hosts import PORTS, is_public
from acp_server.tools.tool import ToolError
from acp_server.tools.web_address import WebAddress, redirected

MOST_BYTES: Final = 5 << 20
MOST_REDIRECTS: Final = 5
SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0
_PIECE: Final = 64 << 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
Resolve: TypeAlias = Callable[[str, int], list[str]]


@value
class WebAnswer:
    """What came: where from after redirects, the body unfolded, and whether it was cut at the limit."""

    address: WebAddress
    status: int
    content_type: str
    body: bytes
    cut: bool


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host; raise OSError."""
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class WebClient:
    """Gets pages; `public`, `ports` and `resolve` are what tests on one machine replace."""

    def __init__(
        self,
        *,
        public: Callable[[str], bool] = is_public,
        ports: frozenset[int] = PORTS,
        resolve: Resolve = resolve,
        seconds: float = SECONDS,
    ) -> None:
        self._public = public
        self._ports = ports
        self._resolve = resolve
        self._seconds = seconds
        self._tls: ssl.SSLContext | None = None

    async def get(
        self, address: WebAddress, cancel: CancelToken, headers: Mapping[str, str] | None = None
    ) -> WebAnswer:
        """Return the answer, whatever its status.

        Raises:
            ToolError: FORBIDDEN_ADDRESS, REDIRECTED, INVALID_ADDRESS, FETCH_FAILED, FETCH_TIMEOUT.
            Cancelled: the token was cancelled; the connection is closed.
        """
        run = _Run(self, address, dict(headers or {}), time.monotonic() + self._seconds)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[WebAnswer] = loop.create_future()

        def work() -> None:
            try:
                answer: WebAnswer | BaseException = run.follow()
            except Exception as error:  # noqa: BLE001 - it is raised where it is awaited
                answer = error
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, answer)

        def settle(answer: WebAnswer | BaseException) -> None:
            if done.done():
                return
            if isinstance(answer, BaseException):
                done.set_exception(answer)
            else:
                done.set_result(answer)

        threading.Thread(target=work, name="fetch", daemon=True).start()  # a name server may hang beyond every limit
        try:
            async with asyncio.timeout(self._seconds + 1):
                return await until(done, cancel)
        except TimeoutError as error:
            raise _late(address) from error
        finally:
            run.hang_up()

    def connect(self, address: WebAddress, until: float) -> socket.socket:
        """Return a connection to a judged address; all addresses of a host have to be public."""
        if address.port not in self._ports:
            raise ToolError("FORBIDDEN_ADDRESS", f"the port {address.port} is not fetched from")
        try:
            found = list(dict.fromkeys(self._resolve(address.host, address.port)))
        except (OSError, UnicodeError) as error:
            raise ToolError("FETCH_FAILED", f"{address.host} is not known") from error
        if not found or not all(self._public(one) for one in found):
            raise ToolError("FORBIDDEN_ADDRESS", f"{address.host} is no host of the public internet")
        for one in found[:4]:
            with suppress(OSError):
                wait = max(0.1, min(CONNECT_SECONDS, until - time.monotonic()))
                return socket.create_connection((one, address.port), timeout=wait)
        raise ToolError("FETCH_FAILED", f"{address.host} cannot be reached")

    def wrap(self, connection: socket.socket, host: str) -> socket.socket:
        """Return the connection encrypted, with the host's certificate checked."""
        if self._tls is None:
            self._tls = tls_context()
        return self._tls.wrap_socket(connection, server_hostname=host)


class _Run:
    """One call, in its thread; `hang_up` may be called from any."""

    def __init__(self, client: WebClient, address: WebAddress, headers: dict[str, str], until: float) -> None:
        self._client = client
        self._address = address
        self._headers = headers
        self._until = until
        self._connection: socket.socket | None = None
        self._over = False

    def follow(self) -> WebAnswer:
        address = self._address
        for _ in range(MOST_REDIRECTS + 1):
            try:
                answer = self._once(address)
            except TimeoutError as error:
                raise _late(address) from error
            except (OSError, http.client.HTTPException, ValueError, LlmError) as error:
                raise ToolError("FETCH_FAILED", f"{address.url} gave no proper answer") from error
            finally:
                self._close()
            if isinstance(answer, WebAnswer):
                return answer
            address = answer
        raise ToolError("FETCH_FAILED", f"{self._address.url} sends on too often")

    def hang_up(self) -> None:
        """End whatever waits."""
        self._over = True
        connection = self._connection
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _once(self, address: WebAddress) -> WebAnswer | WebAddress:
        """Return the answer, or where it sends on to."""
        connection = self._connection = self._client.connect(address, self._until)
        if address.scheme == "https":
            connection = self._connection = self._client.wrap(connection, address.host)
        if self._over:
            raise OSError
        asking = http.client.HTTPConnection(address.host, address.port)
        asking.sock = connection
        host = address.url.split("/", 3)[2]
        headers = {"User-Agent": f"acp-server/{__version__}", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
        asking.putrequest("GET", address.path, skip_host=True, skip_accept_encoding=True)
        for name, text in {"Host": host, **headers, **self._headers, "Connection": "close"}.items():
            asking.putheader(name, text)
        self._tick()
        asking.endheaders()
        response = asking.getresponse()
        location = response.headers.get("Location")
        if response.status in _REDIRECTS and location:
            return redirected(address, location)
        body, cut = self._body(response)
        return WebAnswer(address, response.status, response.headers.get("Content-Type", ""), body, cut)

    def _body(self, response: http.client.HTTPResponse) -> tuple[bytes, bool]:
        unfold = inflater(response.headers.get("Content-Encoding", ""))
        parts, size = list[bytes](), 0
        while size <= MOST_BYTES:
            self._tick()
            data = response.read1(_PIECE)
            if not data:
                return b"".join(parts), False
            piece = data if unfold is None else unfold.feed(data)
            parts.append(piece)
            size += len(piece)
        return b"".join(parts)[:MOST_BYTES], True

    def _tick(self) -> None:
        """Let the next wait end when the whole time is over."""
        left = self._until - time.monotonic()
        if left <= 0 or self._over or self._connection is None:
            raise TimeoutError
        self._connection.settimeout(left)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                os.close(connection.detach())  # a response that broke off still holds on to the socket itself


def _late(address: WebAddress) -> ToolError:
    return ToolError("FETCH_TIMEOUT", f"{address.url} took too long")
