"""A server at an address: streamable HTTP (docs/mcp.md, clauses H-1 to H-6).

Owns the session that the server opens for us, and where its messages come from: the answer to each POST, as one
document or as a stream, and one stream of its own where the server offers that. Redirects to another origin are not
followed, so that the headers stay with the address they are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final

from acp_server.base.cancel import BY_DISPOSAL, Cancelled, CancelToken
from acp_server.jsonrpc.encoding import json_text
from acp_server.jsonrpc.envelope import Answer, Call, Ignored, Refused, read_message
from acp_server.llm.adapter import HttpAnswer, HttpRequest, Transport
from acp_server.llm.failure import LlmError
from acp_server.llm.sse import SseDecoder
from acp_server.llm.waiting import pause
from acp_server.tools.mcp.dialogue import McpError
from acp_server.tools.mcp.servers import McpServer

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of one answer, or of one event."""
ERROR_BYTES: Final = 2048
LISTEN_AGAIN_SECONDS: Final = 1.0
LEAVE_SECONDS: Final = 0.3
SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
NOT_FOUND: Final = 404

Take = Callable[[Call | Answer | Refused | Ignored], None]


class Address:
    """See Channel. `version` is the protocol's, once it is agreed on."""

    def __init__(self, server: McpServer, transport: Transport, take: Take, lost: Callable[[str], None]) -> None:
        self._url = server.url or ""
        self._headers = dict(server.headers)
        self._transport = transport
        self._take = take
        self._lost = lost
        self._session: str | None = None
        self._over = CancelToken()
        self._listening: asyncio.Task[None] | None = None
        self.version: str | None = None

    async def send(self, message: Mapping[str, Any], cancel: CancelToken) -> None:
        """See Channel; returns once the answer to the message has come."""
        answer = await self._post(message, cancel)
        wanted = message.get("id") if "method" in message else None
        spent = False
        try:
            if answer.status >= 300:
                raise await self._refusal(answer)
            self._session = answer.headers.get(SESSION, self._session)
            async with aclosing(_messages(answer)) as messages:
                async for text in messages:
                    told = read_message(text.encode("utf-8", "replace"))
                    self._take(told)
                    if isinstance(told, Answer) and told.id == wanted:
                        spent = True
                        return
        except LlmError as error:
            raise McpError("MCP_GONE", error.message) from error
        finally:
            await answer.close(spent=spent)
        if wanted is not None:
            raise McpError("MCP_MALFORMED", "its answer ended without the answer")

    def listen(self) -> None:
        """Take what the server says by itself from here on, where it offers a stream for that."""
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def close(self) -> None:
        """Hang up, and tell the server that its session is over, as far as that is quick."""
        self._over.cancel(BY_DISPOSAL)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._session is not None:
            with suppress(TimeoutError, LlmError, Cancelled):
                async with asyncio.timeout(LEAVE_SECONDS):
                    request = HttpRequest(self._url, self._head(), b"", "DELETE")
                    await (await self._transport.post(request, CancelToken())).close()

    async def _post(self, message: Mapping[str, Any], cancel: CancelToken) -> HttpAnswer:
        try:
            body = json_text(message).encode()
            request = HttpRequest(self._url, {**self._head(), "content-type": "application/json"}, body)
            return await self._transport.post(request, cancel)
        except LlmError as error:
            raise McpError("MCP_GONE", error.message) from error
        except RecursionError as error:
            raise McpError("MCP_MALFORMED", "what it is asked is nested too deeply") from error

    async def _refusal(self, answer: HttpAnswer) -> McpError:
        if answer.status == NOT_FOUND and self._session is not None:
            self._session = None
            self._lost("it has forgotten the session")
            return McpError("MCP_GONE", "it has forgotten the session")
        said = b""
        with suppress(LlmError, Cancelled):
            async for data in answer.chunks():
                said += data
                if len(said) > ERROR_BYTES:
                    break
        words = " ".join(said[:ERROR_BYTES].decode("utf-8", "replace").split())[:200]
        return McpError("MCP_GONE", f"it answers with HTTP {answer.status}" + (f": {words}" if words else ""))

    async def _listen(self) -> None:
        """Read the server's own stream, again and again; a server without one says so at once."""
        request = HttpRequest(self._url, {**self._head(), "accept": "text/event-stream"}, b"", "GET")
        while True:
            try:
                answer = await self._transport.post(request, self._over)
                try:
                    if answer.status >= 300 or "text/event-stream" not in answer.headers.get("content-type", ""):
                        return
                    async with aclosing(_messages(answer)) as messages:
                        async for text in messages:
                            self._take(read_message(text.encode("utf-8", "replace")))
                finally:
                    await answer.close()
            except (LlmError, McpError):
                pass
            except Cancelled:
                return
            await pause(LISTEN_AGAIN_SECONDS, self._over, asyncio.sleep)

    def _head(self) -> dict[str, str]:
        own = {"accept": "application/json, text/event-stream"}
        if self._session is not None:
            own[SESSION] = self._session
        if self.version is not None:
            own[VERSION] = self.version
        return {**self._headers, **own}


async def _messages(answer: HttpAnswer) -> AsyncGenerator[str, None]:
    """Iterate over the messages in the body of an answer."""
    if "text/event-stream" not in answer.headers.get("content-type", ""):
        whole = b""
        async for data in answer.chunks():
            whole += data
            if len(whole) > LARGEST:
                raise McpError("MCP_MALFORMED", f"its answer has more than {LARGEST} bytes")
        if whole.strip():
            yield whole.decode("utf-8", "replace")
        return
    decoder = SseDecoder(LARGEST)
    async for data in answer.chunks():
        for event in decoder.feed(data):
            if event.event == "message":
                yield event.data
