"""One task, from the composed process to its outcome (docs/headless.md, clauses H-1 to H-9).

Owns the order: the session is open and reported before the task begins, everything is written before the process ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from acp_server.agent.agent import Agent
from acp_server.agent.consent.approvals import Question
from acp_server.agent.modes import mode_of
from acp_server.agent.turns import TurnEnd
from acp_server.app.core import Core, build_core
from acp_server.app.headless.approver import Approve, Approver
from acp_server.app.headless.choices import choose, named_preset
from acp_server.app.headless.images import kept_images
from acp_server.app.headless.options import RunOptions
from acp_server.app.headless.outcome import READER_GONE, Outcome, outcome_of
from acp_server.app.headless.report import Facts, Opened, Report, make_report
from acp_server.app.headless.sessions import enter
from acp_server.app.log_file import LogFile
from acp_server.app.options import ServeOptions
from acp_server.base.cancel import BY_USER
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.pipe_writer import PipeWriter
from acp_server.jsonrpc.stdio import Stdio
from acp_server.llm.explain import CallPlace
from acp_server.messages.blocks import ImageBlock, Message, TextBlock, UserSource
from acp_server.session.events import SessionEvent
from acp_server.session.projections import ProjectionSet
from acp_server.session.session import Session
from acp_server.session.stats import StatsProjection
from acp_server.session.usage import UsageProjection
from acp_server.tools.client_side import NO_CLIENT, ClientSide

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WRITE_SECONDS: Final = 30.0
"""How long a reader of the output may take once the run is over."""
CLOSE_SECONDS: Final = 5.0
GO_ON: Final = "The run was interrupted. Go on with the task from where it stands."
"""What the model is told when a run without a task resumes a session whose last turn did not come to its end."""


class Headless:
    """The front end of a run (port `Front`): sentences and questions go to the report."""

    def __init__(self, report: Report, approve: Approve) -> None:
        self._report = report
        self._approver = Approver(approve, self._answered)

    def tell(self, session_id: str, sentence: str) -> None:  # noqa: ARG002 - a run has one session
        """See Front."""
        self._report.noticed(sentence)

    def tell_all(self, sentence: str) -> None:
        """See Front."""
        self._report.noticed(sentence)

    def asker(self, session_id: str) -> Approver:  # noqa: ARG002 - likewise
        """See Front."""
        return self._approver

    def progress(self, session_id: str, call_id: str, text: str) -> None:
        """See Front; the result has the whole output."""

    def roots(self, session_id: str) -> tuple[str, ...]:  # noqa: ARG002 - likewise
        """See Front."""
        return ()

    def editor_words(self, session_id: str) -> str | None:  # noqa: ARG002 - likewise
        """See Front."""
        return None

    def client(self, session_id: str) -> ClientSide:  # noqa: ARG002 - likewise
        """See Front."""
        return NO_CLIENT

    def _answered(self, question: Question, allowed: bool) -> None:
        self._report.asked(question, allowed=allowed)


class Run:
    """One run. `signal` is the first signal that came, `timed_out` whether its time is over."""

    def __init__(self, core: Core, report: Report, options: RunOptions) -> None:
        self._core = core
        self._report = report
        self._options = options
        self._agent: Agent | None = None
        self._stopped = False
        self.signal: int | None = None
        self.timed_out = False

    def stop(self, number: int | None) -> None:
        """End the turn, because of that signal or because the time is over; a second signal ends the process."""
        if number is not None and self.signal is not None:
            os._exit(128 + number)
        if number is None and self._stopped:
            return  # the turn is ending already, for a reason of its own
        self._stopped = True
        self.signal, self.timed_out = number, number is None
        if self._agent is not None:
            self._agent.cancel(BY_USER)

    async def perform(self) -> tuple[Outcome, Facts]:
        """Return how the run ended and what it came to; what fails before the turn is an outcome too."""
        began = time.monotonic()
        try:
            preset = named_preset(self._core, self._options)
            agent = self._agent = await enter(self._core, self._options, self._report.noticed)
        except ServerError as error:
            return Outcome("failed", error.message, error.code), Facts("", 0, 0, None, time.monotonic() - began)
        first, session = agent.session.seq, agent.session
        notices = list[str]()
        wrong = choose(self._core, self._options, agent, preset, notices.append)
        self._report.opened(_opened(session, agent, resumed=first > 0))
        for sentence in notices:
            self._report.noticed(sentence)
        session.observe(self._report.happened)
        try:
            if wrong is not None:
                raise wrong
            end = await self._turn(agent)
        except ServerError as error:
            outcome = Outcome("failed", error.message, error.code)
        else:
            outcome = outcome_of(end, self._place(agent), signal=self.signal, timed_out=self.timed_out)
        return outcome, _facts(session, first, time.monotonic() - began)

    async def _turn(self, agent: Agent) -> TurnEnd:
        images = await self._images(agent)
        ended: asyncio.Future[TurnEnd] = asyncio.get_running_loop().create_future()
        task = self._options.task
        parked = () if task else agent.run_parked()
        if parked:
            agent.follow(parked, ended.set_result)
        elif task or _broke_off(agent.session):
            message = Message(self._core.ids.new(), "user", (TextBlock(task or GO_ON), *images), UserSource())
            agent.followup(message, ended.set_result)
        else:
            raise ServerError("NOTHING_TO_DO", "No task was given, and the session has none that is unfinished.")
        if self._stopped:
            agent.cancel(BY_USER)
        return await ended

    async def _images(self, agent: Agent) -> tuple[ImageBlock, ...]:
        if not self._options.images:
            return ()
        config = agent.config
        if not self._core.reachable.info(config).reads_images:
            raise ServerError("INVALID_IMAGE", f"{config.provider}/{config.model} reads no images.")
        return await kept_images(agent, self._options.images)

    def _place(self, agent: Agent) -> CallPlace:
        config = agent.config
        return CallPlace(config.provider, config.model, self._core.reachable.key_name(config.provider))


async def run_task(
    environment: Mapping[str, str],
    stdio: Stdio,
    log: LogFile,
    options: RunOptions,
    *,
    serve: ServeOptions,
    say: Callable[[str], None],
    terminal: bool,
) -> int:
    """Do the task and return the exit code. `say` writes a line to standard error, which a `terminal` may be."""
    outbox = Outbox()
    report = make_report(options.form, outbox, say, terminal=terminal)
    core = build_core(environment, log, serve, Headless(report, options.approve), outbox)
    core.store.start()
    core.models.start()
    run = Run(core, report, options)
    writer = PipeWriter(stdio.out_fd, outbox, lambda: run.stop(READER_GONE))
    writer.start()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, and jobs in the background
            loop.add_signal_handler(number, run.stop, int(number))
    clock = None if options.seconds is None else loop.call_later(options.seconds, run.stop, None)
    outcome, facts = await run.perform()
    if clock is not None:
        clock.cancel()
    with suppress(TimeoutError):
        await asyncio.wait_for(core.registry.dispose_all(), CLOSE_SECONDS)
    report.ended(outcome, facts)
    await writer.finish(WRITE_SECONDS)
    await core.close()
    return outcome.exit_code


def _opened(session: Session, agent: Agent, *, resumed: bool) -> Opened:
    model = f"{agent.config.provider}/{agent.config.model}"
    return Opened(session.id, session.header.cwd or "/", model, mode_of(session.events), resumed)


def _facts(session: Session, first: int, seconds: float) -> Facts:
    """Return what the events from `first` on came to; usage is that of the whole session."""
    projections = ProjectionSet(session.events)
    for projection in (StatsProjection(), UsageProjection()):
        projections.register(projection)
    events = [event for event in session.events.milestones() if event.seq >= first]
    steps = sum(event.type == "step/end" for event in events)
    calls = sum(event.type == "tool/call" for event in events)
    return Facts(_answer(events), steps, calls, projections.view("usage"), seconds)


def _broke_off(session: Session) -> bool:
    """Return whether the last turn ended in any other way than by being done."""
    for event in reversed(tuple(session.events.milestones())):
        if event.type == "turn/end":
            reason: Any = event.data["reason"]
            return bool(reason["kind"] != "completed")
    return False


def _answer(events: list[SessionEvent]) -> str:
    """Return the last text of the model that is not empty."""
    for event in reversed(events):
        if event.type == "assistant/message":
            message: Any = event.data["message"]
            text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
            if text.strip():
                return text
    return ""
