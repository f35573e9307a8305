"""Where others take part in a turn: typed hooks, called in order of registration (docs/how-to/write-a-plugin.md).

Owns the seven points, what each may change, and what becomes of a hook that fails. Where nobody registered, a point
costs one look at an empty tuple.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final, TypeAlias

from acp_server.agent.tools import CallPlace, ToolOutcome, failed
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.registered import Registered
from acp_server.base.values import replace, value
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message
from acp_server.messages.chunks import StreamChunk
from acp_server.messages.request import CallConfig, GenerateOptions


@value
class StepPlace:
    """Which step: the session's id and directory, turn and step from 1."""

    session_id: str
    cwd: str | None
    turn: int
    step: int


@value
class Enter:
    """The messages that a step begins with; none is fine after the first step."""

    messages: tuple[Message, ...]


@value
class Reject:
    """The turn ends before the step, as `blocked`; its messages do not reach the model, the person reads why."""

    reason: str


@value
class Allow:
    """The call may run."""


@value
class Deny:
    """The call does not run; the model reads why."""

    reason: str


@value
class Ask:
    """The person decides whether the call runs; where nobody can be asked, it does not."""

    reason: str


@value
class Revise:
    """The call is another one from here on: its tool with these arguments, JSON, judged as if the model had made it."""

    arguments: str
    decision: Allow | Ask = Allow()
    """What is decided of it so far."""


Decision: TypeAlias = Allow | Deny | Ask
ALLOW: Final = Allow()
Asking: TypeAlias = Callable[[CallPlace, str, CancelToken], Awaitable[Decision]]
"""Puts a question about a call to the person; answers Allow or Deny."""

PreStep: TypeAlias = Callable[[StepPlace, Enter], Awaitable[Enter | Reject]]
"""Gets what was claimed, returns what enters: messages rewritten, added, dropped, or a Reject, which is final."""
Request: TypeAlias = Callable[[StepPlace, CallConfig], Awaitable[CallConfig]]
"""Returns where and how the request goes; the provider has to exist."""
Stream: TypeAlias = Callable[[StepPlace, GenerateOptions, AsyncIterator[StreamChunk]], AsyncIterator[StreamChunk]]
"""Returns the stream that takes the place of the given one; it has to keep the grammar of chunks."""
PreTool: TypeAlias = Callable[[CallPlace, Decision], Awaitable[Decision | Revise]]
"""Gets what hooks before it decided, returns the decision; Deny is final, so a later hook is not asked."""
Guard: TypeAlias = Callable[[CallPlace, Decision], Awaitable[Decision]]
"""Judges the call that will run; it revises none."""
Run: TypeAlias = Callable[[], Awaitable[ToolOutcome]]
Execute: TypeAlias = Callable[[CallPlace, CancelToken, Run], Awaitable[ToolOutcome]]
"""Stands around a call: awaits the rest and returns an outcome, or returns its own without awaiting it."""
PostTool: TypeAlias = Callable[[CallPlace, ToolOutcome], Awaitable[ToolOutcome]]
"""Returns what the model reads in the place of the outcome; called in the model's order of calls."""
TurnStopping: TypeAlias = Callable[[StepPlace, TurnEnd], Awaitable[Sequence[Message]]]
"""Called when the turn is about to end; messages that it returns let the turn go on with another step."""


class Hooks:
    """The points, each a table to which hooks are added."""

    __slots__ = ("execute", "post_tool", "pre_step", "pre_tool", "request", "stream", "turn_stopping")

    def __init__(self) -> None:
        self.pre_step: Registered[PreStep] = Registered("pre-step hook")
        self.request: Registered[Request] = Registered("request hook")
        self.stream: Registered[Stream] = Registered("stream hook")
        self.pre_tool: Registered[PreTool] = Registered("pre-tool hook")
        self.execute: Registered[Execute] = Registered("execute hook")
        self.post_tool: Registered[PostTool] = Registered("post-tool hook")
        self.turn_stopping: Registered[TurnStopping] = Registered("turn-stopping hook")


NO_HOOKS: Final = Hooks()
"""For agents that nobody takes part in; nothing is added to it."""


async def enter_step(
    hooks: Hooks, place: StepPlace, messages: Sequence[Message], cancel: CancelToken
) -> Enter | Reject:
    """Return what enters the step.

    Raises:
        Cancelled: the turn was cancelled meanwhile.
        ServerError: HOOK_FAILED.
    """
    entry = Enter(tuple(messages))
    for hook in hooks.pre_step.items:
        entered = await _awaited("pre-step", hook, hook(place, entry), cancel)
        if isinstance(entered, Reject):
            return entered
        entry = entered
    return entry


async def shape_request(hooks: Hooks, place: StepPlace, config: CallConfig, cancel: CancelToken) -> CallConfig:
    """Return where the request goes; raise as `enter_step`."""
    for hook in hooks.request.items:
        config = await _awaited("request", hook, hook(place, config), cancel)
    return config


async def wrap_stream(
    hooks: Hooks, place: StepPlace, options: GenerateOptions, stream: AsyncGenerator[StreamChunk, None]
) -> AsyncGenerator[StreamChunk, None]:
    """Iterate over the stream as the hooks make it; the one underneath is closed in any case.

    Raises:
        ServerError: HOOK_FAILED, a hook raised; such a request is not made again.
    """
    async with aclosing(stream):
        outer: AsyncIterator[StreamChunk] = stream
        try:
            for hook in hooks.stream.items:
                outer = hook(place, options, outer)
            async for chunk in outer:
                yield chunk
        except (Cancelled, ServerError):
            raise
        except Exception as error:
            raise ServerError("HOOK_FAILED", "A hook on the model's stream failed.") from error


async def decide_call(
    hooks: Hooks, place: CallPlace, guard: Guard | None, ask: Asking | None, cancel: CancelToken
) -> CallPlace | Deny:
    """Return the call that may run, or why none may. A hook that fails, and a question that nobody answers, deny it.

    `guard` has the last word, whenever hooks were registered: what it says is asked or denied, no hook can allow. Hooks
    after one that revised the call, the guard and the person see the call as it would run.

    Raises:
        Cancelled: the turn was cancelled meanwhile.
    """
    decision: Decision = ALLOW
    try:
        for hook in hooks.pre_tool.items:
            said = await until(hook(place, decision), cancel)
            if isinstance(said, Revise):
                place, said = replace(place, call=replace(place.call, arguments=said.arguments)), said.decision
            decision = said
            if isinstance(decision, Deny):
                return decision
        if guard is not None:
            decision = await until(guard(place, decision), cancel)
        if isinstance(decision, Ask):
            reason = decision.reason
            if ask is None:
                return Deny(f"{reason} (nobody can be asked)")
            decision = await until(ask(place, reason, cancel), cancel)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - whatever guards a call fails closed
        return Deny(f"what guards it failed with {type(error).__name__}")
    if isinstance(decision, Allow):
        return place
    return decision if isinstance(decision, Deny) else Deny("nobody decided")


async def execute_call(hooks: Hooks, place: CallPlace, cancel: CancelToken, run: Run) -> ToolOutcome:
    """Return the outcome of the call with the hooks around it, the first registered outermost.

    The call runs once: a hook that runs it again fails it, since one consent is for one run.
    """
    run = _once(run)
    for hook in reversed(hooks.execute.items):
        run = partial(hook, place, cancel, run)
    return await run()


async def revise_outcome(hooks: Hooks, place: CallPlace, outcome: ToolOutcome) -> ToolOutcome:
    """Return the outcome that the model reads; a hook that fails makes the call a failed one."""
    for hook in hooks.post_tool.items:
        try:
            outcome = await hook(place, outcome)
        except Exception as error:  # noqa: BLE001 - a result follows each call, whatever happens to it
            return failed(type(error).__name__, "HOOK_FAILED", "what looks at the result failed")
    return outcome


async def before_the_end(
    hooks: Hooks, place: StepPlace, end: TurnEnd, cancel: CancelToken, report: Callable[[BaseException], None]
) -> tuple[Message, ...]:
    """Return the messages with which the turn goes on, or none; a hook that fails is reported and passed over.

    Raises:
        Cancelled: the turn was cancelled meanwhile.
    """
    messages: list[Message] = []
    for hook in hooks.turn_stopping.items:
        try:
            messages += await until(hook(place, end), cancel)
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - the turn ends all the same
            report(error)
    return tuple(messages)


def _once(run: Run) -> Run:
    started = False

    async def once() -> ToolOutcome:
        nonlocal started
        if started:
            raise ServerError("CALL_HAS_RUN", "A hook has run a call twice.")
        started = True
        return await run()

    return once


async def _awaited(point: str, hook: object, result: Awaitable[Any], cancel: CancelToken) -> Any:
    try:
        return await until(result, cancel)
    except (Cancelled, ServerError):
        raise
    except Exception as error:
        name = getattr(hook, "__qualname__", type(hook).__name__)
        raise ServerError("HOOK_FAILED", f"The {point} hook {name} failed.") from error
