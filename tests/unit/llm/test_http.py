"""The HTTP driver against a server on this machine."""

from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
import threading
import zlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest

from acp_server import __version__
from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.llm.adapter import HttpRequest
from acp_server.llm.failure import LlmError
from acp_server.llm.http import HttpTransport
from acp_server.llm.inflate import Inflater, inflater
from acp_server.llm.limits import HttpLimits
from tests.unit.llm.loopback import Answer, Exchange, Server, loopback, silent_after, whole

TLS = ssl.create_default_context()
PATIENT = HttpLimits(connect=5, first_byte=5, silence=5)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def quick_transport(limits: HttpLimits = PATIENT) -> HttpTransport:
    """Return a transport that has its TLS context already, since making one takes long."""
    transport = HttpTransport(limits)
    transport._tls = TLS
    return transport


@asynccontextmanager
async def driver(*answers: Answer, limits: HttpLimits = PATIENT) -> AsyncIterator[tuple[HttpTransport, Server]]:
    async with loopback(*answers) as server:
        transport = quick_transport(limits)
        try:
            yield transport, server
        finally:
            await transport.close()


def request(url: str) -> HttpRequest:
    return HttpRequest(url, {"authorization": "Bearer sk-mock-SECRET"}, b'{"a":1}')


async def body(transport: HttpTransport, url: str, cancel: CancelToken | None = None) -> bytes:
    answer = await transport.post(request(url), cancel or CancelToken())
    data = b"".join([part async for part in answer.chunks()])
    await answer.close()
    return data


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def fails(work: Awaitable[object], code: str) -> str:
    with pytest.raises(LlmError) as caught:
        await work
    assert caught.value.code == code
    return caught.value.message


async def test_a_request_and_its_answer() -> None:
    async with driver(whole(404, b"hello", X_Thing="1")) as (transport, server):
        answer = await transport.post(request(f"{server.url}/v1/x"), CancelToken())
        assert (answer.status, answer.headers) == (404, {"content-length": "5", "x-thing": "1"})
        assert [part async for part in answer.chunks()] == [b"hello"]
        await answer.close()
        await answer.close()
        sent = server.requests[0]
        assert (sent.line, sent.body) == ("POST /v1/x HTTP/1.1", b'{"a":1}')
        assert sent.headers == {
            "host": f"127.0.0.1:{server.port}",
            "authorization": "Bearer sk-mock-SECRET",
            "user-agent": f"acp-server/{__version__}",
            "accept": "*/*",
            "accept-encoding": "identity",
            "connection": "keep-alive",
            "content-length": "7",
        }


async def test_the_user_agent_cannot_be_replaced_and_cookies_are_not_kept() -> None:
    async with driver(whole(200, b"", Set_Cookie="a=b"), whole(200, b"")) as (transport, server):
        for _ in range(2):
            answer = await transport.post(HttpRequest(server.url, {"user-agent": "other"}, b""), CancelToken())
            await answer.close(spent=True)
        assert [sent.headers["user-agent"] for sent in server.requests] == [f"acp-server/{__version__}"] * 2
        assert "cookie" not in server.requests[1].headers


async def test_a_spent_answer_leaves_its_connection_for_the_next() -> None:
    async def stream(exchange: Exchange) -> None:
        await exchange.raw(STREAM)
        await exchange.chunk(b"first")
        await exchange.chunk(b"rest")
        await exchange.last_chunk()

    async with driver(stream, stream, stream) as (transport, server):
        for spent in (True, False, True):
            answer = await transport.post(request(server.url), CancelToken())
            assert await anext(answer.chunks()) == b"first"
            await answer.close(spent=spent)
            await asyncio.gather(*transport._drains)
        assert [sent.connection for sent in server.requests] == [1, 1, 2]
        assert transport._answers == set()


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_to_the_same_origin_is_followed(status: int) -> None:
    async with driver(whole(status, b"", Location="/new?x=1"), whole(200, b"ok")) as (transport, server):
        assert await body(transport, f"{server.url}/old") == b"ok"
        assert [sent.line for sent in server.requests] == ["POST /old HTTP/1.1", "POST /new?x=1 HTTP/1.1"]
        assert server.requests[1].body == b'{"a":1}'
        assert server.requests[1].headers["authorization"] == "Bearer sk-mock-SECRET"


async def test_a_redirect_to_another_origin_gets_neither_key_nor_request() -> None:
    async with loopback(whole(200, b"stolen")) as thief:
        async with driver(whole(307, b"", Location=f"{thief.url}/x")) as (transport, server):
            message = await fails(body(transport, server.url), "HTTP_307")
            assert message == (
                f"127.0.0.1:{server.port} redirects to http://127.0.0.1:{thief.port}, where the key is not sent; "
                "set the base URL to it if it is right."
            )
        assert thief.requests == []


async def test_other_redirects_are_failures() -> None:
    async with driver(whole(302, b"", Location="/x")) as (transport, server):
        assert "would drop the request" in await fails(body(transport, server.url), "HTTP_302")
    async with driver(*[whole(307, b"", Location="/x")] * 4) as (transport, server):
        assert "in a circle" in await fails(body(transport, server.url), "TRANSPORT")


PLAIN = b"data: packed\n\n" * 50


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(PLAIN)),
        ("GZIP", gzip.compress(PLAIN[:100]) + gzip.compress(PLAIN[100:])),
        ("deflate", zlib.compress(PLAIN)),
        ("deflate", raw_deflate(PLAIN)),
        ("identity", PLAIN),
    ],
)
async def test_packed_bodies_are_unpacked_as_they_come(encoding: str, data: bytes) -> None:
    async def stream(exchange: Exchange) -> None:
        await exchange.head(transfer_encoding="chunked", content_encoding=encoding)
        for place in range(len(data)):
            await exchange.chunk(data[place : place + 1])
        await exchange.last_chunk()

    async with driver(stream) as (transport, server):
        assert await body(transport, server.url) == PLAIN


@pytest.mark.parametrize(
    ("encoding", "data", "words"),
    [
        ("gzip", b"no gzip at all", "damaged"),
        ("deflate", b"\xff\xff\xff\xff", "damaged"),
        ("gzip", gzip.compress(PLAIN)[:-9], "broke off"),
        ("br", b"x", "not asked for: 'br'"),
        ("gzip, br", b"x", "not asked for"),
        ("deflate", b"x", "broke off"),
    ],
)
async def test_packed_bodies_that_cannot_be_read(encoding: str, data: bytes, words: str) -> None:
    async with driver(whole(200, data, Content_Encoding=encoding)) as (transport, server):
        assert words in await fails(body(transport, server.url), "TRANSPORT")


def test_a_body_packed_beyond_reason_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acp_server.llm.inflate.MOST_AT_ONCE", 1000)
    bomb = zlib.compress(b"\0" * 1001)
    with pytest.raises(LlmError) as caught:
        Inflater("deflate").feed(bomb)
    assert caught.value.message == "The answer is compressed beyond reason."
    assert inflater("") is None


async def test_nothing_packed_is_nothing() -> None:
    async with driver(whole(200, b"", Content_Encoding="gzip")) as (transport, server):
        assert await body(transport, server.url) == b""


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with driver(silent_after(), limits=HttpLimits(first_byte=0.05)) as (transport, server):
        message = await fails(body(transport, server.url), "TIMEOUT")
        assert message == f"127.0.0.1:{server.port} did not answer within 0.05 s."
        await server.hung_up.wait()


async def test_silence_in_the_middle_is_given_up() -> None:
    answer = silent_after(STREAM, b"2\r\nhi\r\n")
    async with driver(answer, limits=HttpLimits(silence=0.05)) as (transport, server):
        message = await fails(body(transport, server.url), "TIMEOUT")
        assert message == f"127.0.0.1:{server.port} sent nothing for 0.05 s."
        await server.hung_up.wait()


async def test_a_hurried_body_waits_less() -> None:
    answer = silent_after(STREAM, b"2\r\nhi\r\n")
    async with driver(answer, limits=HttpLimits(silence=600, ending=0.05)) as (transport, server):
        found = await transport.post(request(server.url), CancelToken())
        parts = found.chunks()
        assert await anext(parts) == b"hi"
        found.hurry()
        with pytest.raises(LlmError) as caught:
            await anext(parts)
        await found.close()
    assert caught.value.code == "TIMEOUT"


@pytest.mark.parametrize("parts", [(), (STREAM,), (STREAM, b"2\r\nhi\r\n")], ids=["no head", "no body", "mid-body"])
async def test_cancellation_closes_the_socket(parts: tuple[bytes, ...]) -> None:
    reached = asyncio.Event()

    async def answer(exchange: Exchange) -> None:
        for part in parts:
            await exchange.raw(part)
        reached.set()
        await asyncio.Event().wait()

    async with driver(answer) as (transport, server):
        cancel = CancelToken()
        task = asyncio.create_task(body(transport, server.url, cancel))
        await reached.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        cancel.cancel(BY_USER)
        with pytest.raises(Cancelled):
            await task
        await server.hung_up.wait()


async def test_cancellation_while_connecting() -> None:
    # One turn of the loop after its start, the attempt is under way and nobody has accepted it.
    listener = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0, start_serving=False)
    cancel = CancelToken()
    transport = quick_transport()
    task = asyncio.create_task(body(transport, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", cancel))
    await asyncio.sleep(0)
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await task
    await transport.close()
    listener.close()


async def test_a_cancelled_token_sends_nothing() -> None:
    async with driver() as (transport, server):
        cancel = CancelToken()
        cancel.cancel(BY_USER)
        with pytest.raises(Cancelled):
            await body(transport, server.url, cancel)
        assert server.connections == 0


async def test_a_connection_that_breaks_is_told_with_its_place() -> None:
    async def cut(exchange: Exchange) -> None:
        await exchange.raw(STREAM + b"2\r\nhi\r\n")
        exchange.writer.close()

    async def nothing(exchange: Exchange) -> None:
        exchange.writer.close()

    async with driver(cut, nothing) as (transport, server):
        for _ in range(2):
            message = await fails(body(transport, server.url), "TRANSPORT")
            assert message.startswith(f"The connection to 127.0.0.1:{server.port} failed: ")


async def test_a_closed_port_is_told_with_its_cause_and_without_a_password() -> None:
    async with loopback() as server:
        port = server.port
    transport = quick_transport()
    message = await fails(body(transport, f"http://user:hunter22@127.0.0.1:{port}/"), "TRANSPORT")
    assert message.startswith(f"The connection to 127.0.0.1:{port} failed: ")
    assert "Connect call failed" in message
    assert "hunter22" not in message
    await transport.close()


@pytest.mark.parametrize("url", ["", "no url", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:port/"])
async def test_an_address_that_is_none(url: str) -> None:
    transport = quick_transport()
    assert await fails(body(transport, url), "INVALID_REQUEST") == (
        "The provider's base URL is no address of the form https://host/path."
    )
    await transport.close()


@pytest.mark.parametrize("value", ["sk-\nx", "sk-🔑"])
async def test_a_header_that_cannot_be_sent_is_not_shown(value: str) -> None:
    async with driver() as (transport, server):
        message = await fails(
            transport.post(HttpRequest(server.url, {"authorization": value}, b""), CancelToken()), "INVALID_REQUEST"
        )
        assert message == f"The request to 127.0.0.1:{server.port} has a header that cannot be sent."


async def test_proxies_of_the_environment_are_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(whole(200, b"by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with driver(whole(200, b"direct"), whole(200, b"direct")) as (transport, server):
            assert await body(transport, server.url) == b"direct"
            assert await body(transport, f"http://localhost:{server.port}/") == b"direct"
            assert await body(transport, "http://model.test/v1") == b"by proxy"
        assert [sent.line for sent in proxy.requests] == ["POST http://model.test/v1 HTTP/1.1"]


async def test_no_proxy_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "model.test")
        transport = quick_transport()
        await fails(body(transport, "http://model.test:9/v1"), "TRANSPORT")
        await transport.close()
        assert proxy.connections == 0


async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    transport = quick_transport()
    assert "only http:// and https:// proxies" in await fails(body(transport, "http://model.test"), "INVALID_PROXY")
    await transport.close()


async def test_warming_works_in_any_thread_and_once() -> None:
    transport = HttpTransport(PATIENT)
    threads = [threading.Thread(target=transport.warm) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = transport._tls
    transport.warm()
    assert first is not None
    assert transport._tls is first
    await transport.close()


async def test_a_closed_transport_hangs_up_and_sends_nothing() -> None:
    async with driver(silent_after(STREAM, b"2\r\nhi\r\n")) as (transport, server):
        answer = await transport.post(request(server.url), CancelToken())
        assert await anext(answer.chunks()) == b"hi"
        await answer.close(spent=True)
        await transport.close()
        await server.hung_up.wait()
        assert await fails(body(transport, server.url), "TRANSPORT") == "The server is about to end."


async def test_libraries_below_do_not_log_requests(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with driver(whole(200, b"x")) as (transport, server):
            await body(transport, f"{server.url}/?key=secret")
    assert [record.name for record in caplog.records if record.name.startswith("http")] == []
