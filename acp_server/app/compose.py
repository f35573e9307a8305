"""The graph of services of one process, built in one place."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from acp_server.acp.access import Access
from acp_server.acp.server import Server
from acp_server.acp.sessions import Sessions
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import NoTools
from acp_server.app.clock import RandomIds, SystemClock
from acp_server.app.journal import NoJournal
from acp_server.app.log_file import LogFile
from acp_server.app.providers import EnvironmentModels
from acp_server.app.warm_up import WarmUp
from acp_server.jsonrpc.connection import Connection
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.stdio import Stdio
from acp_server.jsonrpc.trace import Trace
from acp_server.session.session import Session
from acp_server.session.store import SessionStore

if TYPE_CHECKING:
    from acp_server.app.model_runtime import ModelRuntime
    from acp_server.llm.runtime import LlmRuntime

WARM_UP_AFTER: Final = 0.05
"""Seconds after which the model runtime is loaded though no prompt has come; a first session/new goes before."""


@dataclass(frozen=True, slots=True)
class Graph:
    """What serving needs to hold on to."""

    connection: Connection
    peer: Peer
    sessions: Sessions
    server: Server
    models: WarmUp[ModelRuntime]

    def warm_up_soon(self) -> None:
        """Load the model runtime once the first requests had their chance."""
        asyncio.get_running_loop().call_later(WARM_UP_AFTER, self.models.start)

    async def close(self) -> None:
        """Give back what the services hold."""
        if self.models.started:
            await (await self.models.result()).close()


def compose(environment: Mapping[str, str], stdio: Stdio, log: LogFile) -> Graph:
    """Build everything that serves one client; nothing is opened, started or sent by it."""
    trace = Trace(lambda line: log.write("trace", line)) if log.shows("trace") else None
    outbox = Outbox(tap=None if trace is None else trace.outbound)
    clock, ids = SystemClock(), RandomIds()
    models = WarmUp(lambda: _load(environment))
    access = Access(EnvironmentModels(environment))

    def services_for(session: Session) -> AgentServices:  # noqa: ARG001 - every session gets the same
        return AgentServices(
            runtime=lambda: _runtime(models),
            tools=NoTools(),
            journal=NoJournal(),
            flow=outbox,
            clock=clock,
            ids=ids,
            random=random.random,
            report=log.report,
        )

    registry = AgentRegistry(SessionStore(clock.now_ms, lambda error, _event: log.report(error)), services_for)
    sessions = Sessions(registry, access, outbox, clock=clock, ids=ids)
    server = Server(sessions, access)
    peer = Peer(server.routes(), outbox, log.note, gate=server.gate)
    connection = Connection(
        stdio,
        peer,
        outbox,
        tap=None if trace is None else trace.inbound,
        hint=lambda text: log.write("error", text),
    )
    return Graph(connection, peer, sessions, server, models)


def _load(environment: Mapping[str, str]) -> ModelRuntime:
    """Runs in the warm-up thread: the import is what takes the time."""
    from acp_server.app.model_runtime import ModelRuntime  # noqa: PLC0415 - the HTTP stack is not for the start path

    return ModelRuntime(environment)


async def _runtime(models: WarmUp[ModelRuntime]) -> LlmRuntime:
    return (await models.result()).runtime
