"""Background commands as the model has them: list them, look at their output, stop them (docs/tools.md, J-1 to J-6).

Owns what of a job's output was looked at already. Starting one is `bash`' matter, its processes are the sandbox's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.errors import ServerError
from acp_server.messages.blocks import TextBlock
from acp_server.sandbox.process import BackgroundJobs, JobFacts
from acp_server.tools.bounds import one_line
from acp_server.tools.tool import AnyTool, Card, Effect, ToolContext, ToolError, ToolResult

MOST_WAIT: Final = 300
_TITLE: Final = 100


class SessionJobs:
    """The jobs of one session, and how far the model has read each one's output."""

    def __init__(self, jobs: BackgroundJobs) -> None:
        self.jobs = jobs
        self._read: dict[str, int] = {}

    def output(self, name: str, *, whole: bool) -> tuple[str, bool]:
        """Return what came since the last look, or all that is kept, and whether the job runs."""
        found = self.jobs.output_since(name, 0 if whole else self._read.get(name, 0))
        self._read[name] = found.next_offset
        gone = f"[{found.omitted} bytes of output are no longer kept]\n" if found.omitted else ""
        return gone + found.text, found.running


JobsOf: TypeAlias = Callable[[ToolContext], SessionJobs]
"""Gives a call the jobs of its session."""


class NoArguments(BaseModel):
    """Arguments of `job_list`."""

    model_config = ConfigDict(extra="forbid")


class JobArguments(BaseModel):
    """Arguments of `job_stop`."""

    model_config = ConfigDict(extra="forbid")

    job: str = Field(min_length=1, max_length=40, description="The job's name, such as job-1.")


class OutputArguments(JobArguments):
    """Arguments of `job_output`."""

    whole: bool = Field(default=False, description="Give all that is kept, not what came since the last look.")
    wait_seconds: int = Field(default=0, ge=0, le=MOST_WAIT, description="Wait so long for the job to end.")


class JobListTool:
    """See Tool."""

    name: Final = "job_list"
    description: Final = "List the commands that were started in the background, with how each one is."
    arguments: Final = NoArguments

    def __init__(self, jobs_of: JobsOf) -> None:
        self._jobs_of = jobs_of

    def effect(self, arguments: NoArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Effect("none")

    def card(self, arguments: NoArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card("List background jobs", "execute")

    def parallel(self, arguments: NoArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: NoArguments, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the port's signature
        """See Tool."""
        jobs = self._jobs_of(context).jobs.list()
        lines = [f"{job.id}: {how(job)} · {job.title}" for job in jobs] or ["There are no background jobs."]
        return ToolResult((TextBlock("\n".join(lines)),), raw_output={"jobs": [job.id for job in jobs]})


class JobOutputTool:
    """See Tool."""

    name: Final = "job_output"
    description: Final = (
        "Show what a background job has put out since it was looked at last, and how it is. It can wait for the job's "
        "end. The end of a job is told by itself, so there is no need to ask again and again."
    )
    arguments: Final = OutputArguments

    def __init__(self, jobs_of: JobsOf) -> None:
        self._jobs_of = jobs_of

    def effect(self, arguments: OutputArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Effect("none")

    def card(self, arguments: OutputArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card(f"Output of {one_line(arguments.job, _TITLE)}", "execute")

    def parallel(self, arguments: OutputArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool; two looks at once would share what is new."""
        return False

    async def run(self, arguments: OutputArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        jobs = self._jobs_of(context)
        cancelled = asyncio.Event()
        unsubscribe = context.cancel.subscribe(cancelled.set)
        try:
            facts = await jobs.jobs.wait(arguments.job, float(arguments.wait_seconds), cancelled)
            context.cancel.raise_if_cancelled()
            text, running = jobs.output(arguments.job, whole=arguments.whole)
        except ServerError as error:
            raise _told(error) from error
        finally:
            unsubscribe()
        lines = [text.rstrip("\n") or "(no new output)", f"[{facts.id} {how(facts)}]"]
        return ToolResult((TextBlock("\n".join(lines)),), raw_output={"job": facts.id, "running": running})


class JobStopTool:
    """See Tool."""

    name: Final = "job_stop"
    description: Final = "Stop a background job and everything that it started."
    arguments: Final = JobArguments

    def __init__(self, jobs_of: JobsOf) -> None:
        self._jobs_of = jobs_of

    def effect(self, arguments: JobArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool; it ends only what the session itself has started."""
        return Effect("none")

    def card(self, arguments: JobArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card(f"Stop {one_line(arguments.job, _TITLE)}", "execute")

    def parallel(self, arguments: JobArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: JobArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        try:
            facts = await self._jobs_of(context).jobs.stop(arguments.job)
        except ServerError as error:
            raise _told(error) from error
        return ToolResult((TextBlock(f"[{facts.id} {how(facts)}]"),), raw_output={"job": facts.id})


def job_tools(jobs_of: JobsOf) -> tuple[AnyTool, ...]:
    """Return the tools for background jobs."""
    return (JobListTool(jobs_of), JobOutputTool(jobs_of), JobStopTool(jobs_of))


def how(job: JobFacts) -> str:
    """Return how a job is, or how it ended, told as it was."""
    if job.running:
        return f"runs for {job.seconds:.0f} s"
    if job.outcome is None:
        return f"never ran: {job.error}"
    ended = job.outcome
    way = f"exit code {ended.exit_code}" if ended.exit_code is not None else f"signal {ended.signal}"
    why = " (it was stopped)" if ended.cancelled else " (it wrote too much)" if ended.flooded else ""
    return f"{way}{why} after {job.seconds:.0f} s"


def _told(error: ServerError) -> ToolError:
    more = " Jobs end with the server that started them." if error.code == "NO_SUCH_JOB" else ""
    return ToolError(error.code, error.message + more)
