"""The shell: one command in its box, with its output as it comes and its end told as it was (docs/tools.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.base.values import replace
from acp_server.messages.blocks import TextBlock
from acp_server.sandbox.confine import SHELL, Backend, ConfinedCommand
from acp_server.sandbox.hosts import canonical_host
from acp_server.sandbox.limits import LIMITS, Limits
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.process import CommandOutcome, run_command
from acp_server.tools.beside import Whole
from acp_server.tools.bounds import one_line
from acp_server.tools.boxed import boxed
from acp_server.tools.jobs import JobsOf
from acp_server.tools.live_output import LiveOutput
from acp_server.tools.run import INLINE_BYTES
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

LONGEST_SECONDS: Final = 600
_JOB_TITLE: Final = 100
BackendOf = Callable[[], Backend]
"""Gives the box of this process; blocks for a moment the first time."""


class BashArguments(BaseModel):
    """Arguments of `bash`."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(min_length=1, max_length=100_000, description="The command line, for bash.")
    description: str | None = Field(default=None, max_length=200, description="What it does, in a few words.")
    hosts: list[str] = Field(
        default=[],
        max_length=20,
        description="Hosts it must reach over HTTP(S); the person is asked for new ones.",
    )
    timeout_seconds: int = Field(default=120, ge=1, le=LONGEST_SECONDS, description="When to stop it.")
    background: bool = Field(
        default=False, description="Start it and go on: for servers and watchers. No time limit; see job_output."
    )


class BashTool:
    """See Tool."""

    name: Final = "bash"
    description: Final = (
        "Run a command in bash, in the session's directory. It has no terminal and no input; its output comes back "
        "with its exit code. Files outside of the project cannot be changed and there is no network, unless the person "
        "allowed it. Prefer the tools that read, search and edit files over commands that do the same."
    )
    arguments: Final = BashArguments

    def __init__(self, backend: BackendOf, jobs_of: JobsOf) -> None:
        self._backend = backend
        self._jobs_of = jobs_of

    def effect(self, arguments: BashArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        hosts = tuple(dict.fromkeys(canonical_host(host) or host for host in arguments.hosts))
        return Effect("execute", command=arguments.command, background=arguments.background, hosts=hosts)

    def card(self, arguments: BashArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        words = arguments.description or arguments.command
        return Card(f"In the background: {words}" if arguments.background else words, "execute")

    def parallel(self, arguments: BashArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool; a command may change what another one reads."""
        return False

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolResult:
        """See Tool. A command that ends by itself has run, whatever its exit code; one that was stopped has not."""
        try:
            backend, spill = await asyncio.gather(asyncio.to_thread(self._backend), context.beside.new_file())
            command = await boxed(context, (*SHELL, arguments.command), backend)
            if arguments.background:
                return self._started(command, spill, arguments, context)
            outcome = await _shown(command, limits_for(arguments.timeout_seconds), spill, context)
        except ServerError as error:
            raise ToolError(error.code, error.message) from error
        text, output = describe(outcome, arguments.timeout_seconds), outcome.output
        whole = None if output.spill is None else Whole(output.spill, output.total)
        if outcome.timed_out or outcome.flooded or outcome.cancelled:
            raise ToolError("COMMAND_STOPPED", text, whole)
        told: JsonObject = {"exitCode": outcome.exit_code, "sandbox": enforced(outcome, context.policy)}
        return ToolResult((TextBlock(text),), raw_output=told, whole=whole)

    def _started(
        self, command: ConfinedCommand, spill: str | None, arguments: BashArguments, context: ToolContext
    ) -> ToolResult:
        title = one_line(arguments.description or arguments.command, _JOB_TITLE)
        name = self._jobs_of(context).jobs.start(command, title, spill=spill)
        kept = f" Output beyond 32 KiB goes to {spill}, which you can read." if spill is not None else ""
        text = f"Started {name}. Its end will be told; look at it with job_output, end it with job_stop.{kept}"
        return ToolResult((TextBlock(text),), raw_output={"job": name})


def limits_for(seconds: float | None) -> Limits:
    """Return the limits of a command; no more of its output stays in memory than a result may show."""
    return replace(
        LIMITS,
        wall_seconds=None if seconds is None else float(seconds),
        head_bytes=INLINE_BYTES,
        tail_bytes=INLINE_BYTES,
        spill_after_bytes=INLINE_BYTES,
    )


async def _shown(command: ConfinedCommand, limits: Limits, spill: str | None, context: ToolContext) -> CommandOutcome:
    """Run the command and show its output as it comes."""
    loop = asyncio.get_running_loop()
    live = LiveOutput(context.progress, loop.time, loop.call_later)
    try:
        return await run_command(command, limits=limits, cancel=context.cancel, on_output=live, spill=spill)
    finally:
        live.close()


def enforced(outcome: CommandOutcome, policy: Policy) -> JsonObject:
    """Return what held the command, for programs: level, box, and what it could reach."""
    network = policy.network.mode if outcome.kind != "none" else "on"
    return {"level": outcome.level, "box": outcome.kind, "network": network}


def describe(outcome: CommandOutcome, limit_seconds: int) -> str:
    """Return what the model reads: the output, then how the command ended."""
    lines = [outcome.output.text.rstrip("\n")] if outcome.output.text.strip() else ["(no output)"]
    if outcome.timed_out:
        lines.append(f"[stopped after {limit_seconds} s]")
    elif outcome.cancelled:
        lines.append("[stopped because the turn was cancelled]")
    elif outcome.flooded:
        lines.append("[stopped because it wrote too much]")
    if outcome.exit_code is not None:
        lines.append(f"[exit code {outcome.exit_code}]")
    else:
        lines.append(f"[ended by signal {outcome.signal}]")
    lines += outcome.denied
    lines += [f"[put back: {name}]" for name in outcome.changed]
    return "\n".join(lines)
