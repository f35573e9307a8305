"""What an agent is given from outside. Nothing below `app` looks a service up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from acp_server.agent.tools import ToolBox
from acp_server.base.ports import Clock, Flow, HeldJournal, Ids
from acp_server.base.values import value
from acp_server.llm.runtime import LlmRuntime


@value
class AgentServices:
    """The services of one agent.

    `runtime` may still be loading when the first step asks for it; `random` gives numbers from 0 to 1;
    `report` takes failures that nobody else hears of.
    """

    runtime: Callable[[], Awaitable[LlmRuntime]]
    tools: ToolBox
    journal: HeldJournal
    flow: Flow
    clock: Clock
    ids: Ids
    random: Callable[[], float]
    report: Callable[[BaseException], None]


@value
class TurnPlace:
    """Which turn and step something belongs to, from 1."""

    turn: int
    step: int
