"""Sub-agents by the port: the id of their session, a fresh one or a given one (docs/others.md, clause A-1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import NoTools
from acp_server.app.delegation import Delegation
from acp_server.app.family import Family, Kin
from acp_server.base.cancel import CancelToken
from acp_server.base.ids import SessionId
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.request import CallConfig
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.session.store import SessionStore
from acp_server.tools.delegate import Errand
from acp_server.tools.tool import ToolContext, ToolError
from tests.support.clock import FakeClock
from tests.support.ids import FakeIds
from tests.support.rig import ChunkModel, CountingJournal, OpenFlow, text

PARENT = SessionId("parent")


@dataclass
class Calling:
    """What of a call's context a sub-agent looks at."""

    session_id: str = PARENT
    call_id: str = "c1"
    cancel: CancelToken = field(default_factory=CancelToken)

    def progress(self, words: str) -> None:
        """Show nothing."""


class Bench:
    """A parent that is open, and what its sub-agents are made of; `made` are the sessions in order."""

    def __init__(self, *answers: str) -> None:
        clock, ids, runtime = FakeClock(), FakeIds("m"), LlmRuntime()
        runtime.register(["play"], ChunkModel([text(words) for words in answers]))
        self.made: list[SessionHeader] = []

        async def ready() -> LlmRuntime:
            return runtime

        def services(session: Session, _read_only: str | None) -> AgentServices:
            self.made.append(session.header)
            return AgentServices(
                runtime=ready,
                tools=NoTools(),
                journal=CountingJournal(lambda: session.seq),
                flow=OpenFlow(),
                clock=clock,
                ids=ids,
                random=lambda: 0.5,
                report=lambda _error: None,
            )

        registry = AgentRegistry(SessionStore(clock.now_ms, lambda *_: None), services)
        registry.create(SessionHeader(PARENT, 0, "/p"), CallConfig("play", "m"))
        family = Family(cast("Any", None))
        family.kin = Kin(registry, cast("Any", None), clock, ids, lambda: 2, lambda: 2)
        self.delegation = Delegation(family)

    async def run(self, session_id: str | None) -> str:
        """Run an errand; return the id that its report names."""
        errand = Errand("look", "Look around.", session_id=session_id)
        report = await self.delegation.run(errand, cast("ToolContext", Calling()))
        assert (report.kind, report.text) == ("completed", "Seen.")
        return report.session_id


async def test_a_sub_agent_has_a_fresh_id_or_the_given_one() -> None:
    bench = Bench("Seen.", "Seen.")
    fresh, given = await bench.run(None), await bench.run("mine")
    assert (given, fresh) == ("mine", bench.made[1].id)
    links = [(header.id, header.parent_session, header.origin) for header in bench.made[1:]]
    assert links == [(fresh, PARENT, "subagent"), ("mine", PARENT, "subagent")]


async def test_the_id_of_an_open_session_is_refused_and_that_session_goes_on() -> None:
    bench = Bench("Seen.")
    with pytest.raises(ToolError) as refused:
        await bench.run(PARENT)
    assert (refused.value.code, [header.id for header in bench.made]) == ("SUBAGENT_TAKEN", [PARENT])
    assert await bench.run("other") == "other"
