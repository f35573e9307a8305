"""The order of calls for one session (docs/protocol.md, clause T-58)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from acp_server.acp.open_sessions import OpenSessions
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.services import AgentServices
from acp_server.jsonrpc.envelope import Call
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import PENDING, Inbound, Pending
from acp_server.session.session import Session
from acp_server.session.store import SessionStore
from tests.support.clock import settle

Answer = Mapping[str, Any] | Pending


def no_services(_session: Session, _read_only: str | None) -> AgentServices:
    raise AssertionError("no agent is made here")


def request() -> Inbound:
    return Inbound(Call("m", {}, 1), lambda *_: None, lambda *_: None)


class Bench:
    """Routes that note when they run, and gates that let those go on which wait."""

    def __init__(self) -> None:
        registry = AgentRegistry(SessionStore(lambda: 0, lambda *_: None), no_services)
        self.sessions = OpenSessions(registry, Outbox())
        self.log: list[str] = []
        self.gates: dict[str, asyncio.Future[None]] = {}
        self.tasks: dict[str, asyncio.Future[Answer]] = {}
        self._turn = self.sessions.in_turn(self._sync)
        self._alone = self.sessions.alone(self._slow)

    def _sync(self, given: Mapping[str, Any], _request: Inbound) -> Answer:
        self.log.append(given["name"])
        if given.get("fails"):
            raise RpcError(-32602, "no")
        return PENDING if given.get("pending") else {"name": given["name"]}

    async def _slow(self, given: Mapping[str, Any], _request: Inbound) -> Answer:
        self.log.append(f"{given['name']} begins")
        gate = self.gates[given["name"]] = asyncio.get_running_loop().create_future()
        await gate
        self.log.append(f"{given['name']} ends")
        if given.get("fails"):
            raise RpcError(-32603, "no")
        return {}

    def _start(self, call: Callable[[dict[str, Any], Inbound], Any], given: dict[str, Any]) -> Any:
        outcome = call(given, request())
        if isinstance(outcome, Awaitable):
            outcome = self.tasks[given["name"]] = asyncio.ensure_future(outcome)
        return outcome

    def turn(self, name: str, session: str = "s", **more: object) -> Any:
        return self._start(self._turn, {"sessionId": session, "name": name, **more})

    def alone(self, name: str, session: str = "s", **more: object) -> Any:
        return self._start(self._alone, {"sessionId": session, "name": name, **more})

    async def let(self, name: str) -> None:
        await settle()
        self.gates[name].set_result(None)
        await settle()


async def test_a_call_that_waits_for_nothing_runs_at_once() -> None:
    bench = Bench()
    assert bench.turn("prompt") == {"name": "prompt"}
    assert bench.turn("cancel", pending=True) is PENDING
    assert bench.log == ["prompt", "cancel"]


async def test_what_comes_behind_a_call_that_is_alone_waits_from_that_very_moment() -> None:
    bench = Bench()
    bench.alone("load")
    first, second = bench.turn("prompt", pending=True), bench.turn("cancel")
    await settle()
    assert bench.log == ["load begins"]
    await bench.let("load")
    assert bench.log == ["load begins", "load ends", "prompt", "cancel"]
    assert (await first, await second) == (PENDING, {"name": "cancel"})
    assert bench.turn("later") == {"name": "later"}


async def test_calls_that_are_alone_follow_each_other_with_what_was_between_them() -> None:
    bench = Bench()
    bench.alone("load")
    bench.turn("one")
    bench.alone("close")
    bench.turn("two")
    bench.alone("again")
    await bench.let("load")
    assert bench.log == ["load begins", "load ends", "one", "close begins"]
    await bench.let("close")
    await bench.let("again")
    assert bench.log[4:] == ["close ends", "two", "again begins", "again ends"]


async def test_a_call_that_comes_while_others_go_on_keeps_its_place() -> None:
    bench = Bench()
    bench.alone("load")
    bench.turn("first")
    await settle()
    bench.gates["load"].set_result(None)
    await asyncio.sleep(0)
    bench.turn("second")
    await settle()
    assert bench.log == ["load begins", "load ends", "first", "second"]


async def test_sessions_do_not_wait_for_each_other() -> None:
    bench = Bench()
    bench.alone("load")
    assert bench.turn("other", session="t") == {"name": "other"}
    bench.alone("load-t", session="t")
    await settle()
    assert bench.log == ["other", "load begins", "load-t begins"]


async def test_failures_let_the_next_go_on() -> None:
    bench = Bench()
    bench.alone("load", fails=True)
    bench.turn("prompt", fails=True)
    bench.turn("cancel")
    await bench.let("load")
    for name in ("load", "prompt"):
        with pytest.raises(RpcError):
            await bench.tasks[name]
    assert bench.log == ["load begins", "load ends", "prompt", "cancel"]
    assert bench.turn("later") == {"name": "later"}


async def test_a_call_that_is_cancelled_while_it_waits_lets_the_next_go_on() -> None:
    bench = Bench()
    bench.alone("load")
    bench.alone("close")
    bench.turn("prompt")
    await settle()
    bench.tasks["close"].cancel()
    await bench.let("load")
    assert bench.log == ["load begins", "load ends", "prompt"]


async def test_a_call_without_a_session_is_refused_or_runs_at_once() -> None:
    bench = Bench()
    for ident in (None, 7, ["s"]):
        with pytest.raises(RpcError) as raised:
            bench.alone("load", session=ident)  # type: ignore[arg-type]  # that is what the test is about
        assert raised.value.rpc_code == -32602
        assert bench.turn("cancel", session=ident) == {"name": "cancel"}  # type: ignore[arg-type]  # likewise


async def test_nothing_is_open_at_first_and_closing_it_is_no_error() -> None:
    sessions = Bench().sessions
    assert sessions.get("s") is None
    with pytest.raises(RpcError) as raised:
        sessions.find({"sessionId": "s"})
    assert raised.value.rpc_code == -32002
    await sessions.close("s")
    await sessions.close_all()
    await sessions.when_idle()
