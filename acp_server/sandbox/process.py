"""Running commands: one to its end, or many in the background (docs/sandbox.md, clauses M-1 to M-6 and J-1 to J-4).

Owns time, cancellation and the number of jobs. What runs and where is settled before; what it may touch is the box's
matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace, value
from acp_server.sandbox.confine import BoxKind, ConfinedCommand
from acp_server.sandbox.limits import BACKGROUND_JOBS, LIMITS, Limits
from acp_server.sandbox.markers import denials
from acp_server.sandbox.output import Output
from acp_server.sandbox.policy import Level
from acp_server.sandbox.readable import readable
from acp_server.sandbox.started import Started

_LOOKED_AT: Final = 1 << 16
_KILL_SECONDS: Final = 10.0
SHUTDOWN_GRACE_SECONDS: Final = 0.3
KEPT_ENDED_JOBS: Final = 32

Stopped: TypeAlias = Literal["time", "cancel", "flood", "asked"]


@value
class CommandOutcome:
    """How a command went, told as it was: it may have timed out and still have exited with 0.

    Exactly one of `exit_code` and `signal` is set. `denied` are markers of docs/sandbox.md, clause D-1; `changed` are
    protected names that were put back after it.
    """

    exit_code: int | None
    signal: int | None
    output: Output
    seconds: float
    level: Level
    kind: BoxKind
    timed_out: bool = False
    cancelled: bool = False
    flooded: bool = False
    denied: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


async def run_command(
    command: ConfinedCommand,
    *,
    limits: Limits = LIMITS,
    cancel: CancelToken | None = None,
    on_output: Callable[[str], None] | None = None,
    spill: str | None = None,
) -> CommandOutcome:
    """Run a command and return its outcome once nothing of it is left.

    `on_output` is given readable text as it comes. `spill` is the path of a file to make for output that is longer
    than is shown. Cancelling the token ends the command; the outcome says so.

    Raises:
        ServerError: SANDBOX_FAILED when the command never ran.
    """
    running = Started(command, limits, spill=spill, on_output=on_output)
    asked = asyncio.Event()
    unsubscribe = cancel.subscribe(asked.set) if cancel is not None else None
    try:
        return await _to_end(running, command, limits, asked, "cancel")
    finally:
        if unsubscribe is not None:
            unsubscribe()


async def _to_end(
    running: Started, command: ConfinedCommand, limits: Limits, asked: asyncio.Event, why_asked: Stopped
) -> CommandOutcome:
    """Wait for the end, or bring it about; a cancelled task kills first and waits then, so that nothing is left."""
    ended = asyncio.ensure_future(running.ended())
    stopped: Stopped | None = None
    try:
        stopped = await _first(ended, running, limits.wall_seconds, asked, why_asked)
        if stopped is not None:
            grace = limits.grace_seconds if stopped == "time" else limits.cancel_grace_seconds
            await _stop(running, ended, 0.0 if stopped == "flood" else grace)
        code = await ended
    finally:
        if not ended.done():
            running.kill()
            with suppress(ServerError):
                await asyncio.shield(ended)
    return _outcome(running, command, code, stopped)


async def _first(
    ended: asyncio.Future[int], running: Started, seconds: float | None, asked: asyncio.Event, why_asked: Stopped
) -> Stopped | None:
    """Return why the command has to be stopped, or None when it ended by itself."""
    reasons: dict[asyncio.Future[Any], Stopped] = {
        asyncio.ensure_future(asked.wait()): why_asked,
        asyncio.ensure_future(running.flooded.wait()): "flood",
    }
    waited: set[asyncio.Future[Any]] = {ended, *reasons}
    try:
        done, _ = await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in reasons:
            task.cancel()
    if ended in done:
        return None
    return next((why for task, why in reasons.items() if task in done), "time")


async def _stop(running: Started, ended: asyncio.Future[int], grace: float) -> None:
    if grace > 0:
        running.terminate()
        await asyncio.wait({ended}, timeout=grace)
    if not ended.done():
        running.kill()
        await asyncio.wait({ended}, timeout=_KILL_SECONDS)


def _outcome(running: Started, command: ConfinedCommand, code: int, stopped: Stopped | None) -> CommandOutcome:
    output = running.captured.output(running.spill)
    denied: tuple[str, ...] = ()
    if code != 0 and command.kind != "none":
        partial = command.kind == "landlock"
        last = (output.tail or output.head)[-_LOOKED_AT:]
        denied = denials(last, command.level, command.cwd, partial=partial, network=command.network, held=command.held)
    return CommandOutcome(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        output=output,
        seconds=asyncio.get_running_loop().time() - running.start_time,
        level=command.level,
        kind=command.kind,
        timed_out=stopped == "time",
        cancelled=stopped in ("cancel", "asked"),
        flooded=stopped == "flood",
        denied=(*denied, *command.refused()),
        changed=running.changed,
    )


@value
class JobFacts:
    """One background job: `outcome` is there when it has ended, `error` when it never ran."""

    id: str
    title: str
    running: bool
    seconds: float
    outcome: CommandOutcome | None = None
    error: str | None = None


@value
class JobOutput:
    """A job's output from an offset on: `omitted` bytes before `text` are gone, `next_offset` asks for the rest."""

    text: str
    next_offset: int
    omitted: int
    running: bool


@dataclass(slots=True)
class _Job:
    title: str
    running: Started
    asked: asyncio.Event
    task: asyncio.Task[CommandOutcome]


class BackgroundJobs:
    """The background jobs of one session. They run without a limit of time, up to a number at once."""

    def __init__(
        self,
        *,
        limits: Limits = LIMITS,
        most: int = BACKGROUND_JOBS,
        on_end: Callable[[JobFacts], None] | None = None,
    ) -> None:
        self._limits = limits
        self._most = most
        self._on_end = on_end
        self._jobs: dict[str, _Job] = {}
        self._made = 0

    def start(self, command: ConfinedCommand, title: str, *, spill: str | None = None) -> str:
        """Start a job and return its id, `job-1`, `job-2` and so on.

        Raises:
            ServerError: TOO_MANY_JOBS, and the command is closed; what starting gives.
        """
        if sum(not job.task.done() for job in self._jobs.values()) >= self._most:
            command.close()
            raise ServerError("TOO_MANY_JOBS", f"{self._most} background jobs are running; stop one of them first.")
        running = Started(command, self._limits, spill=spill)
        self._made += 1
        name, asked = f"job-{self._made}", asyncio.Event()
        limits = replace(self._limits, wall_seconds=None)
        task = asyncio.ensure_future(_to_end(running, command, limits, asked, "asked"))
        self._jobs[name] = _Job(title, running, asked, task)
        task.add_done_callback(lambda _: self._ended(name))
        return name

    def list(self) -> tuple[JobFacts, ...]:
        """Return the jobs in order of their start; of the ended ones the latest."""
        return tuple(self._facts(name) for name in self._jobs)

    def output_since(self, name: str, offset: int = 0) -> JobOutput:
        """Return a job's output. Raise ServerError NO_SUCH_JOB."""
        job = self._job(name)
        data, omitted = job.running.captured.since(offset)
        return JobOutput(readable(data), job.running.captured.total, omitted, not job.task.done())

    async def wait(self, name: str, seconds: float, enough: asyncio.Event) -> JobFacts:
        """Return a job's facts once it has ended, the seconds are over or the event is set. Raise NO_SUCH_JOB."""
        job = self._job(name)
        stopping = asyncio.ensure_future(enough.wait())
        try:
            await asyncio.wait({job.task, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return self._facts(name)

    async def stop(self, name: str) -> JobFacts:
        """End a job and return its facts; one that has ended is left as it is. Raise ServerError NO_SUCH_JOB."""
        job = self._job(name)
        job.asked.set()
        await asyncio.wait({job.task})
        return self._facts(name)

    async def close(self) -> None:
        """End every job, with the grace of a shutdown."""
        running = [job for job in self._jobs.values() if not job.task.done()]
        for job in running:
            job.running.terminate()
        if running:
            await asyncio.wait({job.task for job in running}, timeout=SHUTDOWN_GRACE_SECONDS)
        for job in running:
            if not job.task.done():
                job.running.kill()
        if running:
            await asyncio.wait({job.task for job in running})

    def _job(self, name: str) -> _Job:
        job = self._jobs.get(name)
        if job is None:
            raise ServerError("NO_SUCH_JOB", f"There is no background job {name!r}.")
        return job

    def _facts(self, name: str) -> JobFacts:
        job = self._jobs[name]
        now = asyncio.get_running_loop().time()
        if not job.task.done():
            return JobFacts(name, job.title, running=True, seconds=now - job.running.start_time)
        failure = job.task.exception() if not job.task.cancelled() else ServerError("CANCELLED", "It was cancelled.")
        if failure is not None:
            return JobFacts(name, job.title, running=False, seconds=0.0, error=str(failure))
        outcome = job.task.result()
        return JobFacts(name, job.title, running=False, seconds=outcome.seconds, outcome=outcome)

    def _ended(self, name: str) -> None:
        facts = self._facts(name)
        ended = [key for key, job in self._jobs.items() if job.task.done()]
        for key in ended[:-KEPT_ENDED_JOBS]:
            del self._jobs[key]
        if self._on_end is not None:
            self._on_end(facts)
