"""Running sub-agents: each a session and an agent of its own, from the call that starts it to its report.

Owns that a sub-agent never may more than its parent, ends with it, and is closed whatever happens to it
(docs/others.md, clauses A-1 to A-9). Loaded by the first call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from acp_server.agent.agent import Agent
from acp_server.agent.consent.grants import RULE_EVENT, fold_rule, rule_data, session_rules
from acp_server.agent.modes import MODE_EVENT, mode_of
from acp_server.agent.network import NETWORK_EVENT, reach_of
from acp_server.agent.presets import PRESET_EVENT, preset_data, preset_of
from acp_server.agent.turns import TurnEnd
from acp_server.app.family import Family, Kin, Link
from acp_server.base.cancel import BY_DISPOSAL, CancelCause
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import Message, TextBlock, UserSource
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.session.usage import SPENT, spent_since
from acp_server.tools.delegate import Errand, Report
from acp_server.tools.live_output import LiveOutput
from acp_server.tools.tool import ToolContext, ToolError

DESCRIPTOR: Final = "subagent/descriptor"
BY_PARENT: Final = CancelCause("parent")
GRANTS: Final = frozenset({MODE_EVENT, NETWORK_EVENT, RULE_EVENT})
"""Events of the parent that change what it may, and with it what its sub-agents may."""
WORDS: Final = {
    "max-tokens": "its answer was cut at the model's limit",
    "refusal": "its model refused to go on",
    "max-turn-requests": "it reached the limit of requests of one turn",
    "blocked": "a hook stopped it",
}


class Delegation:
    """See Delegate."""

    def __init__(self, family: Family | None) -> None:
        self._family = family
        self._lives: set[asyncio.Task[Report]] = set()

    async def run(self, errand: Errand, context: ToolContext) -> Report:
        """See Delegate."""
        family = self._family
        kin = None if family is None else family.kin
        parent = None if kin is None else kin.registry.get(SessionId(context.session_id))
        if family is None or kin is None or parent is None:
            raise ToolError("SUBAGENT_LIMIT", "no sub-agent can be started here")
        require_room(family, kin, parent)
        if errand.session_id is not None and kin.registry.get(SessionId(errand.session_id)) is not None:
            raise ToolError("SUBAGENT_TAKEN", f"a session {errand.session_id} is open already")
        child = Child(family, kin, parent, errand, context)
        life = asyncio.ensure_future(child.live())
        self._lives.add(life)
        life.add_done_callback(self._over)
        unsubscribe = context.cancel.subscribe(child.stop)
        try:
            return await asyncio.shield(life)
        except asyncio.CancelledError:
            child.stop()  # it ends and is closed behind the back of a call that is over
            raise
        finally:
            unsubscribe()

    async def close(self) -> None:
        """Return once no sub-agent lives."""
        if self._lives:
            await asyncio.wait(self._lives)

    def _over(self, life: asyncio.Task[Report]) -> None:
        self._lives.discard(life)
        if not life.cancelled():
            life.exception()  # told to the call, if that still waits


def require_room(family: Family, kin: Kin, parent: Agent) -> None:
    """Do nothing when a further sub-agent may start there; raise ToolError SUBAGENT_LIMIT."""
    depth, most = kin.depth(), kin.most()
    if parent.session.header.delegation_depth >= depth:
        raise ToolError("SUBAGENT_LIMIT", "no sub-agent may be started at this depth; do the work yourself")
    if family.count(family.root(str(parent.session.id))) >= most:
        raise ToolError("SUBAGENT_LIMIT", f"{most} sub-agents are at work already; wait for one to end")


class Child:
    """One sub-agent."""

    def __init__(self, family: Family, kin: Kin, parent: Agent, errand: Errand, context: ToolContext) -> None:
        self._family = family
        self._kin = kin
        self._parent = parent
        self._errand = errand
        self._context = context
        self._id = SessionId(kin.ids.new() if errand.session_id is None else errand.session_id)
        self._agent: Agent | None = None
        self._stopped = False

    def stop(self) -> None:
        """End it, because its parent's turn ends."""
        self._stopped = True
        if self._agent is not None:
            self._agent.cancel(BY_PARENT)

    async def live(self) -> Report:
        """Return the report, once the session is closed."""
        link = Link(str(self._parent.session.id), self._context.call_id, self._errand.label)
        self._family.adopt(self._id, link)
        try:
            agent = self._agent = await self._begun()
            try:
                return await self._work(agent)
            finally:
                await self._kin.registry.dispose(self._id)
        finally:
            self._family.release(self._id)

    async def _begun(self) -> Agent:
        """Make the session: with nothing in it, or with the parent's turns that are over."""
        parent = self._parent.session
        header = SessionHeader(
            self._id,
            self._kin.clock.now_ms(),
            parent.header.cwd,
            parent_session=parent.id,
            origin="subagent",
            delegation_depth=parent.header.delegation_depth + 1,
        )
        boundary = last_turn_end(parent) if self._errand.inherits else None
        if boundary is None:
            return self._kin.registry.create(header, self._parent.config)
        store = await self._kin.store()
        loaded = await store.fork(parent.id, header, boundary)
        try:
            return self._kin.registry.resume(loaded.header, loaded.log, self._parent.config)
        except ServerError:
            await store.close(self._id)
            raise

    async def _work(self, agent: Agent) -> Report:
        session, parent = agent.session, self._parent.session
        loop = asyncio.get_running_loop()
        live = LiveOutput(self._context.progress, loop.time, loop.call_later)
        session.append(DESCRIPTOR, self._descriptor(agent))
        if preset_of(session.events) != preset_of(parent.events):
            session.append(PRESET_EVENT, preset_data(preset_of(parent.events)))
        agent.rename(self._errand.label, "parent")
        take_over(parent, session)
        ends = (
            parent.observe(partial(_when_granted, lambda _event: take_over(parent, session), session)),
            session.observe(partial(_when_granted, lambda event: hand_up(event, parent), parent)),
            session.observe(partial(show, live)),
        )
        ended: asyncio.Future[TurnEnd] = loop.create_future()
        try:
            agent.followup(self._prompt(), ended.set_result)
            if self._stopped:
                agent.cancel(BY_PARENT)
            return self._report(session, await ended)
        finally:
            live.close()
            for end in ends:
                end()
            self._account(session)

    def _account(self, session: Session) -> None:
        """Tell the parent's log what the sub-agent used, its own ones included, unless it has closed meanwhile."""
        parent = self._parent.session
        used = spent_since(session.events.milestones(), session.header.seed_length or 0)
        if used and self._kin.registry.get(parent.id) is self._parent:
            facts: dict[str, JsonValue] = {"callId": self._context.call_id, "sessionId": session.id, "usage": used}
            with suppress(ServerError):
                parent.append(SPENT, facts, ignorable=True)

    def _descriptor(self, agent: Agent) -> dict[str, JsonValue]:
        config = agent.config
        return {
            "version": 2,
            "mode": "fork" if self._errand.inherits else "spawn",
            "label": self._errand.label,
            "callId": self._context.call_id,
            "provider": config.provider,
            "model": config.model,
        }

    def _prompt(self) -> Message:
        return Message(self._kin.ids.new(), "user", (TextBlock(self._errand.prompt),), UserSource())

    def _report(self, session: Session, end: TurnEnd) -> Report:
        text, steps = last_words(session)
        told = partial(Report, str(session.id))
        if end.kind == "completed":
            return told("completed", text, steps)
        if end.kind == "aborted":
            closing = end.cause == BY_DISPOSAL
            why = "its session was closed" if closing else "the turn was cancelled"
            return told("cancelled", text, steps, f"the sub-agent was stopped because {why}")
        reason = end.failure.message if end.failure is not None else WORDS.get(end.kind, "it did not come to an end")
        return told("failed", text, steps, f"the sub-agent failed: {reason}")


def last_turn_end(session: Session) -> int | None:
    """Return the seq of the end of the last turn that is over, None when there is none."""
    found = None
    for event in session.events.of_types(("turn/end",)):
        found = event.seq
    return found


def last_words(session: Session) -> tuple[str, int]:
    """Return the last text of the session's own turns that is not empty, and how many steps they had."""
    text, steps = "", 0
    for event in session.events.milestones(session.header.seed_length or 0):
        if event.type == "step/start":
            steps += 1
        elif event.type == "assistant/message":
            message: Any = event.data["message"]
            said = "".join(block["text"] for block in message["content"] if block["type"] == "text")
            text = said if said.strip() else text
    return text, steps


def take_over(parent: Session, child: Session) -> None:
    """Let the child's mode, network and rules be those of the parent, as events of its own where they differ."""
    mode, reach = mode_of(parent.events), reach_of(parent.events)
    if mode_of(child.events) != mode:
        child.append(MODE_EVENT, {"preset": mode})
    if reach is not None and reach_of(child.events) != reach:
        child.append(NETWORK_EVENT, {"network": reach}, ignorable=True)
    wanted, had = session_rules(parent.events.milestones()), session_rules(child.events.milestones())
    for rule in had:
        if rule not in wanted:
            child.append(RULE_EVENT, rule_data("revoked", rule), ignorable=True)
    for rule in wanted:
        if rule not in had:
            child.append(RULE_EVENT, rule_data("added", rule), ignorable=True)


def hand_up(event: SessionEvent, parent: Session) -> None:
    """Let a rule that the person made in answer to a sub-agent hold in the parent as well."""
    if event.type != RULE_EVENT or event.data.get("change") != "added":
        return
    before = list(session_rules(parent.events.milestones()))
    after = list(before)
    fold_rule(after, event)
    for rule in after[len(before) :]:
        parent.append(RULE_EVENT, rule_data("added", rule), ignorable=True)


def _when_granted(act: Callable[[SessionEvent], None], into: Session, event: SessionEvent) -> None:
    if event.type in GRANTS:
        into.after_append(partial(act, event))


def show(live: LiveOutput, event: SessionEvent) -> None:
    """Show what a sub-agent says and calls in the card of the call that started it."""
    if event.type == "assistant/chunk":
        chunk: Any = event.data["chunk"]
        if chunk["type"] == "text-delta":
            live(chunk["text"])
        elif chunk["type"] == "block-start" and chunk["blockType"] == "text":
            live("\n")
    elif event.type == "tool/call":
        view: Any = event.data.get("view")
        title = view.get("title") if isinstance(view, dict) else None
        live(f"\n· {title or event.data['name']}\n")
