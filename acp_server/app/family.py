"""Which sessions are sub-agents of which, and how the person is reached from one (docs/others.md, clauses A-4 to A-6).

The front end knows no sub-agent: whatever one has to say or ask is said and asked in the session at the root, in the
card of the call that started it. Owns that one question of a root is open at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from acp_server.app.front import Front
from acp_server.base.values import replace, value
from acp_server.llm.waiting import until
from acp_server.tools.client_side import Reply

if TYPE_CHECKING:
    from acp_server.agent.consent.approvals import Asker, Outcome, Question
    from acp_server.agent.registry import AgentRegistry
    from acp_server.base.cancel import CancelToken
    from acp_server.base.ports import Clock, Ids
    from acp_server.persistence.port import SessionPersistence
    from acp_server.tools.client_side import ClientSide, Inquiry


@value
class Link:
    """How a sub-agent hangs on its parent: the session, the call that started it, what it is for."""

    parent: str
    call_id: str
    label: str


@value
class Kin:
    """What sub-agents are made of. `depth` and `most` are asked when one is to start."""

    registry: AgentRegistry
    store: Callable[[], Awaitable[SessionPersistence]]
    clock: Clock
    ids: Ids
    depth: Callable[[], int]
    most: Callable[[], int]


class Family:
    """See Front: that of the process, for its sessions and for their sub-agents."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._links: dict[str, Link] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self.kin: Kin | None = None
        """Given once the services are there."""

    def adopt(self, session_id: str, link: Link) -> None:
        """Let the session count as a sub-agent until it is released."""
        self._links[session_id] = link

    def release(self, session_id: str) -> None:
        """Forget a sub-agent that has ended."""
        self._links.pop(session_id, None)

    def is_child(self, session_id: str) -> bool:
        """Return whether the session is a running sub-agent."""
        return session_id in self._links

    def root(self, session_id: str) -> str:
        """Return the session that the front end knows."""
        while (link := self._links.get(session_id)) is not None:
            session_id = link.parent
        return session_id

    def count(self, root: str) -> int:
        """Return how many sub-agents of that root are there."""
        return sum(self.root(child) == root for child in self._links)

    def closed(self, session_id: str) -> None:
        """Forget what was kept for a session that has closed."""
        self._asking.pop(session_id, None)

    def tell(self, session_id: str, sentence: str) -> None:
        """See Front."""
        self._front.tell(self.root(session_id), sentence)

    def tell_all(self, sentence: str) -> None:
        """See Front."""
        self._front.tell_all(sentence)

    def asker(self, session_id: str) -> Asker:
        """See Front."""
        root = self.root(session_id)
        lock = self._asking.setdefault(root, asyncio.Lock())
        asker: Asker = InTurn(self._front.asker(root), lock)
        return InParent(asker, self._way(session_id)) if self.is_child(session_id) else asker

    def progress(self, session_id: str, call_id: str, text: str) -> None:
        """See Front; what a sub-agent's calls put out stays there, its own card shows what it is at."""
        if not self.is_child(session_id):
            self._front.progress(session_id, call_id, text)

    def roots(self, session_id: str) -> tuple[str, ...]:
        """See Front."""
        return self._front.roots(self.root(session_id))

    def editor_words(self, session_id: str) -> str | None:
        """See Front; a sub-agent knows its prompt alone."""
        return self._front.editor_words(session_id)

    def client(self, session_id: str) -> ClientSide:
        """See Front."""
        client = self._front.client(self.root(session_id))
        return ChildSide(client) if self.is_child(session_id) else client

    def _way(self, session_id: str) -> tuple[Link, ...]:
        """Return the links from the root down to the session."""
        way: list[Link] = []
        while (link := self._links.get(session_id)) is not None:
            way.insert(0, link)
            session_id = link.parent
        return tuple(way)


class ChildSide:
    """See ClientSide; that of a sub-agent, which asks the person nothing."""

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self.read_text = client.read_text
        self.write_text = client.write_text
        self.open_terminal = client.open_terminal

    @property
    def reads(self) -> bool:
        """See ClientSide."""
        return self._client.reads

    @property
    def writes(self) -> bool:
        """See ClientSide."""
        return self._client.writes

    @property
    def terminals(self) -> bool:
        """See ClientSide."""
        return self._client.terminals

    async def ask(self, inquiry: Inquiry, call_id: str, cancel: CancelToken) -> Reply:  # noqa: ARG002 - the port's signature
        """See ClientSide."""
        return Reply("nobody")


class InTurn:
    """See Asker; one question after another, since many clients show one alone."""

    def __init__(self, asker: Asker, lock: asyncio.Lock) -> None:
        self._asker = asker
        self._lock = lock

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        """See Asker."""
        await until(self._lock.acquire(), cancel)
        try:
            return await self._asker.ask(question, cancel)
        finally:
            self._lock.release()


class InParent:
    """See Asker; the questions of a sub-agent, as the person finds them in the session that they know."""

    def __init__(self, asker: Asker, way: tuple[Link, ...]) -> None:
        self._asker = asker
        self._way = way

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        """See Asker."""
        names = ", then ".join(link.label for link in self._way)
        reason = f"The sub-agent “{names}” wants to call {question.tool}. {question.reason}"
        card = replace(question.card, title=f"{self._way[-1].label}: {question.card.title}")
        asked = replace(question, call_id=self._way[0].call_id, card=card, reason=reason)
        return await self._asker.ask(asked, cancel)
