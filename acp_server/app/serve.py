"""Serving one client on the process's pipes, from the first unserved byte to the exit code.

Owns the order of the end: input over, turns cancelled (or awaited), children gone, answers written, log closed.
docs/protocol.md, clauses T-10 to T-15.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from contextlib import suppress
from typing import Final

from acp_server.acp.start import Start
from acp_server.app.compose import Graph, compose
from acp_server.app.log_file import LibraryLog, LogFile
from acp_server.app.options import ServeOptions
from acp_server.jsonrpc.connection import Reason
from acp_server.jsonrpc.lifetime import Lifetime
from acp_server.jsonrpc.stdio import Stdio

GRACE_SECONDS: Final = 0.3
"""How long running calls may take to end once the process has to."""
CLOSE_SECONDS: Final = 5.0
"""How long writing the logs may take; a disk that hangs must not keep the process."""
SIGNALLED: Final = 128


def serve(stdio: Stdio, start: Start, options: ServeOptions | None, parent: int) -> int:
    """Serve until the client, a signal or the parent's death ends it; return the exit code.

    0 when the input ended or nobody reads the output, 128 + n after signal n. When it returns, every log is closed and
    every answer written; threads that look up a host or load a module may still run, so the caller ends the process
    without waiting for them.
    """
    options = options or ServeOptions()
    log = LogFile(options.log, options.log_level)
    logging.getLogger().addHandler(LibraryLog(log))  # without a handler, libraries' warnings go to stderr
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_serve(stdio, start, options, parent, log))
    finally:
        log.close()


async def _serve(stdio: Stdio, start: Start, options: ServeOptions, parent: int, log: LogFile) -> int:
    graph = compose(os.environ, stdio, log, options)
    lifetime = Lifetime(parent, graph.connection.stop, _exit_now)
    lifetime.start()
    if start.initialized is not None:
        graph.server.initialized(start.initialized)
    graph.core.warm_up_soon(graph.busy)
    gc.freeze()  # what is there by now stays: not looked through before a long session is opened
    gc.enable()
    reason = await graph.connection.run(start.unread)
    log.write("info", f"the connection ends: {reason}")
    await _end(graph, reason, wait=options.wait)
    lifetime.end()
    return 0 if lifetime.signal is None else SIGNALLED + lifetime.signal


async def _end(graph: Graph, reason: Reason, *, wait: bool) -> None:
    if wait and reason == "eof":
        await graph.peer.quiet()
        await graph.sessions.when_idle()
    with suppress(TimeoutError):
        await asyncio.wait_for(graph.sessions.close_all(), CLOSE_SECONDS)
    await graph.peer.close(GRACE_SECONDS)
    await graph.connection.close()
    await graph.core.close()


def _exit_now(number: int) -> None:
    """A second signal: the person does not want to wait."""
    os._exit(SIGNALLED + number)
