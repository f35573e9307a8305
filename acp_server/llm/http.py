"""The HTTP driver: the one module that imports httpx (docs/llm.md, clauses D-1 to D-12).

Owns connections, redirects, proxies, time limits and what network faults are called. Refuses to know what a body
means and to send a key to another origin than the one it is for.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Final, cast

import certifi
import httpx

from acp_server import __version__
from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import HttpRequest
from acp_server.llm.failure import LlmError, error_chain, plain_sentence
from acp_server.llm.inflate import Inflater, inflater
from acp_server.llm.limits import HttpLimits
from acp_server.llm.waiting import Watch, until

USER_AGENT: Final = f"acp-server/{__version__}"
MOST_REDIRECTS: Final = 3
DRAIN_SECONDS: Final = 1.0
DRAIN_BYTES: Final = 64 * 1024
_LOOPBACK: Final = ("all://localhost", "all://127.0.0.1", "all://[::1]")
_FAULTS: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError)

for _name in ("httpx", "httpcore"):  # their lower levels write addresses and headers, keys included
    logging.getLogger(_name).setLevel(logging.WARNING)


class HttpTransport:
    """One client and one TLS context for the life of the process; see Transport."""

    def __init__(self, limits: HttpLimits | None = None) -> None:
        self._limits = HttpLimits() if limits is None else limits
        self._tls: ssl.SSLContext | None = None
        self._tls_lock = threading.Lock()
        self._client: httpx.AsyncClient | None = None
        self._answers: set[HttpxAnswer] = set()
        self._drains: set[asyncio.Task[None]] = set()
        self._closed = False

    def warm(self) -> None:
        """Make the TLS context, which takes 50 ms; may be called from any thread."""
        with self._tls_lock:
            if self._tls is None:
                self._tls = tls_context()

    async def post(self, request: HttpRequest, cancel: CancelToken) -> HttpxAnswer:
        """See Transport. A redirect to the same origin that keeps the method is followed; every other is a failure.

        Raises:
            LlmError: TRANSPORT, TIMEOUT, INVALID_REQUEST (the address or a header cannot be used), HTTP_3xx.
            Cancelled: the token was cancelled first; the connection is closed.
        """
        cancel.raise_if_cancelled()
        client = await self._ready(cancel)
        watch = Watch(cancel, self._limits.first_byte)
        place = "the model server"
        try:
            url = httpx.URL(request.url)
            place = _place(url)
            for _ in range(MOST_REDIRECTS + 1):
                headers = {**request.headers, "user-agent": USER_AGENT}
                built = client.build_request(request.method, url, headers=headers, content=request.body or None)
                with watch:
                    response = await client.send(built, stream=True)
                if not 300 <= response.status_code <= 399:
                    return await self._answer(response, cancel, place)
                await response.aclose()
                url = _redirected(response, url)
        except TimeoutError as error:
            raise LlmError("TIMEOUT", f"{place} did not answer within {self._limits.first_byte:g} s.") from error
        except _FAULTS as error:
            raise _mapped(error, place, self._limits) from error
        finally:
            watch.close()
        raise LlmError("TRANSPORT", f"{place} redirects in a circle.")

    async def close(self) -> None:
        """Hang up everywhere and wait until it is done; afterwards nothing can be sent."""
        self._closed = True
        for task in tuple(self._drains):
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        for answer in tuple(self._answers):
            await answer.close()
        if self._client is not None:
            await self._client.aclose()

    async def _ready(self, cancel: CancelToken) -> httpx.AsyncClient:
        if self._tls is None:
            await until(asyncio.to_thread(self.warm), cancel)
        if self._closed:
            raise LlmError("TRANSPORT", "The server is about to end.")
        if self._client is None:
            self._client = _client(self._tls or tls_context(), self._limits)
        return self._client

    async def _answer(self, response: httpx.Response, cancel: CancelToken, place: str) -> HttpxAnswer:
        try:
            inflate = inflater(response.headers.get("content-encoding", ""))
        except LlmError:
            await response.aclose()
            raise
        answer = HttpxAnswer(response, inflate, Context(place, cancel, self))
        self._answers.add(answer)
        return answer

    def forget(self, answer: HttpxAnswer) -> None:
        """Let go of an answer that is over."""
        self._answers.discard(answer)

    def drain(self, answer: HttpxAnswer) -> None:
        """Read the end of an answer in the background, so that its connection can be used again."""
        task = asyncio.get_running_loop().create_task(answer.drain())
        self._drains.add(task)
        task.add_done_callback(self._drains.discard)

    @property
    def limits(self) -> HttpLimits:
        """Return the limits that hold for every request."""
        return self._limits


@dataclass(frozen=True, slots=True)
class Context:
    """What an answer belongs to; `place` is host and port for people."""

    place: str
    cancel: CancelToken
    transport: HttpTransport


class HttpxAnswer:
    """See HttpAnswer. It is its own iterator over the body, so that a consumer that leaves early leaves nothing."""

    def __init__(self, response: httpx.Response, inflate: Inflater | None, context: Context) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        # The bytes as they came, without the four microseconds a read that `aiter_raw` adds.
        self._raw = aiter(cast("httpx.AsyncByteStream", response.stream))
        self._inflate = inflate
        self._cancel = context.cancel
        self._place = context.place
        self._transport = context.transport
        self._watch = Watch(context.cancel, context.transport.limits.silence)
        self._over = False

    def chunks(self) -> AsyncIterator[bytes]:
        """See HttpAnswer; raise LlmError TRANSPORT or TIMEOUT, and Cancelled."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while True:
            try:
                with self._watch:
                    data = await anext(self._raw)
            except StopAsyncIteration:
                self._over = True
                if self._inflate is not None:
                    self._inflate.finish()
                raise
            except TimeoutError as error:
                seconds = self._transport.limits.silence
                raise LlmError("TIMEOUT", f"{self._place} sent nothing for {seconds:g} s.") from error
            except _FAULTS as error:
                raise _mapped(error, self._place, self._transport.limits) from error
            if self._inflate is None:
                return data
            if unfolded := self._inflate.feed(data):
                return unfolded

    def hurry(self) -> None:
        """See HttpAnswer."""
        self._watch.shorten(self._transport.limits.ending)

    async def close(self, *, spent: bool = False) -> None:
        """See HttpAnswer."""
        self._watch.close()
        if spent and not self._over and not self._cancel.cancelled:
            self._transport.drain(self)
            return
        self._transport.forget(self)
        with suppress(*_FAULTS):
            await self._response.aclose()

    async def drain(self) -> None:
        """Read what is left of the body for a moment, then let go of the connection."""
        size = 0
        with suppress(TimeoutError, *_FAULTS):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for data in self._raw:
                    size += len(data)
                    if size > DRAIN_BYTES:
                        break
        await self.close()


def tls_context() -> ssl.SSLContext:
    """Return the system's trust, as the environment may direct it; where no bundle is found, certifi's too."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(cafile=certifi.where())
    return context


def _client(tls: ssl.SSLContext, limits: HttpLimits) -> httpx.AsyncClient:
    try:
        client = httpx.AsyncClient(
            verify=tls,
            http1=True,
            http2=False,
            follow_redirects=False,
            trust_env=True,  # proxies; the environment is the person's
            mounts=dict.fromkeys(_LOOPBACK),
            timeout=httpx.Timeout(None, connect=limits.connect),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30.0),
            # Not asking for compression keeps proxies from holding events back to pack them.
            headers={"accept-encoding": "identity"},
        )
    except (ImportError, httpx.InvalidURL, ValueError) as error:
        words = "of the environment cannot be used; only http:// and https:// proxies can"
        raise LlmError("INVALID_PROXY", f"The proxy {words} (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY).") from error
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


def _place(url: httpx.URL) -> str:
    """Return host and port in words; never the rest of the address, which may hold a password."""
    port = url.port or {"https": 443, "http": 80}.get(url.scheme)
    return f"{url.host or 'the model server'}:{port}" if port else url.host or "the model server"


def _redirected(response: httpx.Response, url: httpx.URL) -> httpx.URL:
    """Return where to send the request again."""
    target = url.join(response.headers.get("location", ""))
    same = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
    if same and response.status_code in (307, 308):
        return target
    if same:
        words = "in a way that would drop the request"
    else:
        words = (
            f"to {target.scheme}://{_place(target)}, where the key is not sent; set the base URL to it if it is right"
        )
    status = response.status_code
    raise LlmError(f"HTTP_{status}", f"{_place(url)} redirects {words}.", status=status)


def _mapped(error: Exception, place: str, limits: HttpLimits) -> LlmError:
    """Return a fault of the network in our words, its causes included, without an address's password."""
    if isinstance(error, httpx.ConnectTimeout):
        return LlmError("TIMEOUT", f"No connection to {place} within {limits.connect:g} s.")
    if isinstance(error, httpx.TimeoutException):
        return LlmError("TIMEOUT", f"{place} took too long.")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return LlmError("INVALID_REQUEST", "The provider's base URL is no address of the form https://host/path.")
    if isinstance(error, httpx.LocalProtocolError | ValueError):
        # Their texts hold the header that cannot be written, which may be the key.
        return LlmError("INVALID_REQUEST", f"The request to {place} has a header that cannot be sent.")
    return LlmError("TRANSPORT", f"The connection to {place} failed: {plain_sentence(error_chain(_root(error)))}.")


def _root(error: Exception) -> BaseException:
    """Return the fault as the system raised it: the layers above hide its causes and carry it as their argument."""
    inner = error.__cause__
    root = inner.args[0] if inner is not None and inner.args else None
    return root if isinstance(root, BaseException) else error
