"""What an agent is given from outside. Nothing below `app` looks a service up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from acp_server.agent.contexts import Context
from acp_server.agent.hooks import NO_HOOKS, Asking, Guard, Hooks, StepPlace
from acp_server.agent.keeping import Keeper
from acp_server.agent.system_prompt import SECTIONS, VARIABLES, Section, Variable
from acp_server.agent.tools import ToolBox
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Attachments, Clock, Flow, HeldJournal, Ids
from acp_server.base.values import value
from acp_server.llm.runtime import LlmRuntime
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session
from acp_server.session.title import fallback_for

if TYPE_CHECKING:
    from acp_server.agent.undo import Undo

Title: TypeAlias = Callable[[SessionEvent], dict[str, JsonValue] | None]
"""Returns the data of the `session/title` that an event gives a session without one, or None."""
MAX_STEPS: Final = 200
"""Model requests of one turn at most; then the turn ends and the person is told so."""


class NoAttachments:
    """See Attachments; where there is no place for any."""

    async def put(self, content: bytes) -> str:  # noqa: ARG002 - the port's signature
        """Raise ServerError NO_ATTACHMENTS."""
        raise ServerError("NO_ATTACHMENTS", "Images cannot be kept here.")


NO_ATTACHMENTS: Final = NoAttachments()


async def holds_nothing() -> None:
    """Give nothing back."""


async def waits_for_nothing() -> None:
    """Return at once."""


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
    hooks: Hooks = NO_HOOKS
    sections: Callable[[], tuple[Section, ...]] = lambda: SECTIONS
    """Asked before each request, as are variables and contexts."""
    variables: Callable[[], tuple[Variable, ...]] = lambda: VARIABLES
    contexts: Callable[[], tuple[Context, ...]] = lambda: ()
    title: Title = fallback_for
    max_steps: Callable[[], int] = lambda: MAX_STEPS
    """Asked when a turn begins."""
    guard: Guard | None = None
    """Judges each call after every hook, so that nobody comes behind it; None judges nothing."""
    attachments: Attachments = NO_ATTACHMENTS
    keeper: Callable[[], Keeper | None] = lambda: None
    """Asked before each step but a session's first: what keeps the conversation within the model's window, None where
    nothing does."""
    keeper_loaded: Callable[[], Awaitable[None]] = waits_for_nothing
    """Awaited before `keeper` is asked in a turn, since what it is made of may still have to be imported."""
    undo: Callable[[Callable[[], int | None]], Undo | None] = lambda _used: None
    """Gives what goes back to earlier messages; it is given what counts the next request's tokens."""
    ask: Asking | None = None
    """Puts a question to the person; None while nobody can be asked."""
    release: Callable[[], Awaitable[None]] = holds_nothing
    """Awaited once the agent is quiet: gives back what the session alone held, processes included."""


@value
class TurnPlace:
    """Which turn and step something belongs to, from 1."""

    turn: int
    step: int

    def in_session(self, session: Session) -> StepPlace:
        """Return the place as hooks get it."""
        return StepPlace(session.id, session.header.cwd, self.turn, self.step)
