"""The HTTP driver, loaded when it is first needed: a scripted model never waits for an HTTP stack.

Loading takes a third of a second of processor time, most of it imports. `load` begins it in a thread of its own, for
a process whose model is known to be reached over HTTP.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import HttpAnswer, HttpRequest
from acp_server.llm.limits import HttpLimits
from acp_server.llm.waiting import until

if TYPE_CHECKING:
    from acp_server.llm.http import HttpTransport


class LaterTransport:
    """See Transport. May be made in any thread; requests belong to one event loop."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._loaded: Future[HttpTransport] = Future()
        self._lock = threading.Lock()
        self._begun = False

    def load(self) -> None:
        """Begin to load, unless that has begun."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
        threading.Thread(target=self._run, name="http", daemon=True).start()

    async def post(self, request: HttpRequest, cancel: CancelToken) -> HttpAnswer:
        """See Transport."""
        if not self._loaded.done():
            self.load()
            await until(asyncio.shield(asyncio.wrap_future(self._loaded)), cancel)
        return await self._loaded.result().post(request, cancel)

    async def close(self) -> None:
        """Hang up; a driver that is not loaded has nothing to hang up."""
        if self._loaded.done() and self._loaded.exception() is None:
            await self._loaded.result().close()

    def _run(self) -> None:
        try:
            from acp_server.llm.http import HttpTransport  # noqa: PLC0415 - the import is what takes the time

            transport = HttpTransport(self._limits)
            transport.warm()
        except Exception as error:  # noqa: BLE001 - it is raised again where the driver is used
            self._loaded.set_exception(error)
        else:
            self._loaded.set_result(transport)
