"""One client on the process's own pipes: bytes to messages to the peer, the outbox to bytes.

Owns when the connection ends and why. What ends with it (sessions, children) is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias

from acp_server.jsonrpc.envelope import Refused, read_message
from acp_server.jsonrpc.errors import invalid_request
from acp_server.jsonrpc.framing import LineSplitter, TooLong
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.pipe_reader import PipeReader
from acp_server.jsonrpc.pipe_writer import PipeWriter
from acp_server.jsonrpc.stdio import Stdio

Reason: TypeAlias = Literal["eof", "broken", "signal", "orphan", "stopped"]


class Connection:
    """Runs a peer on a pair of descriptors.

    `splitter` is given where the limit of a line is not the usual one. `tap` sees every line that arrives; `hint` gets
    one sentence when the client seems to speak another framing.
    """

    def __init__(
        self,
        stdio: Stdio,
        peer: Peer,
        outbox: Outbox,
        *,
        splitter: LineSplitter | None = None,
        tap: Callable[[bytes], None] | None = None,
        hint: Callable[[str], None] | None = None,
    ) -> None:
        self._stdio = stdio
        self._peer = peer
        self._outbox = outbox
        self._splitter = splitter or LineSplitter()
        self._tap = tap
        self._hint = hint
        self._over: asyncio.Future[Reason] | None = None
        self._reason: Reason | None = None
        self._writer: PipeWriter | None = None

    async def run(self, initial: bytes = b"") -> Reason:
        """Serve until the input ends, the output breaks or `stop` is called; return which.

        `initial` was read before and is served first.
        The writer goes on after the return, so that what is still answered gets out: `close` ends it.
        """
        self._over = asyncio.get_running_loop().create_future()
        self._writer = PipeWriter(self._stdio.out_fd, self._outbox, lambda: self.stop("broken"))
        reader = PipeReader(self._stdio.in_fd, self._received)
        self._writer.start()
        if initial:
            self._received(initial)
        if self._reason is not None:
            return self._reason
        reader.start()
        try:
            return await self._over
        finally:
            reader.stop()

    def stop(self, reason: Reason) -> None:
        """Let `run` return; the first reason wins. May be called before `run`."""
        if self._reason is not None:
            return
        self._reason = reason
        if self._over is not None and not self._over.done():
            self._over.set_result(reason)

    async def close(self, seconds: float = 0.5) -> bool:
        """Write what waits, for at most that long, and give the output back; return whether all was written."""
        return await self._writer.finish(seconds) if self._writer is not None else False

    def _received(self, data: bytes) -> None:
        if data:
            for line in self._splitter.feed(data):
                self._serve(line)
            return
        last = self._splitter.finish()
        if last is not None:
            self._serve(last)
        self.stop("eof")

    def _serve(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._peer.receive(Refused(invalid_request(f"A message may have at most {line.limit} bytes.")))
            return
        if self._tap is not None:
            self._tap(line)
        message = read_message(line)
        if isinstance(message, Refused) and self._hint is not None and line[:15].lower() == b"content-length:":
            self._hint("The client sends Content-Length headers; this protocol is one JSON message a line.")
            self._hint = None
        self._peer.receive(message)
