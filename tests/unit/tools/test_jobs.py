from __future__ import annotations

import asyncio
from typing import cast

import pytest

from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.base.errors import ServerError
from acp_server.messages.blocks import text_of
from acp_server.sandbox.output import Output
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.process import BackgroundJobs, CommandOutcome, JobFacts, JobOutput
from acp_server.tools.arguments import read_arguments
from acp_server.tools.jobs import SessionJobs, how, job_tools
from acp_server.tools.tool import Effect, ToolError, ToolResult
from tests.support.file_rig import Context

DONE = CommandOutcome(0, None, Output("", "", 0, 0), 2.0, "workspace-write", "bubblewrap")


class Jobs:
    """One job whose output is a text that grows; see BackgroundJobs."""

    def __init__(self) -> None:
        self.text, self.gone, self.ended = "one\n", 0, asyncio.Event()

    def facts(self, name: str) -> JobFacts:
        if name != "job-1":
            raise ServerError("NO_SUCH_JOB", f"There is no background job {name!r}.")
        return JobFacts(name, "serve", not self.ended.is_set(), 2.0, DONE if self.ended.is_set() else None)

    def list(self) -> tuple[JobFacts, ...]:
        return (self.facts("job-1"),)

    def output_since(self, name: str, offset: int = 0) -> JobOutput:
        facts = self.facts(name)
        start = max(offset, self.gone)
        return JobOutput(self.text[start:], len(self.text), start - offset, facts.running)

    async def wait(self, name: str, seconds: float, enough: asyncio.Event) -> JobFacts:
        self.facts(name)
        if seconds:
            ways = [asyncio.ensure_future(event.wait()) for event in (self.ended, enough)]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
        return self.facts(name)

    async def stop(self, name: str) -> JobFacts:
        self.facts(name)
        self.ended.set()
        return self.facts(name)


class Rig:
    def __init__(self) -> None:
        self.jobs, self.context = Jobs(), Context("/p", Policy("workspace-write", "/p"))
        held = SessionJobs(cast("BackgroundJobs", self.jobs))
        self.tools = {tool.name: tool for tool in job_tools(lambda _context: held)}

    async def call(self, name: str, arguments: str = "{}") -> ToolResult:
        tool = self.tools[name]
        return await tool.run(read_arguments(tool, arguments), self.context)

    async def told(self, name: str, arguments: str = "{}") -> str:
        return text_of((await self.call(name, arguments)).content)


async def test_jobs_are_listed_as_they_are() -> None:
    rig = Rig()
    assert await rig.told("job_list") == "job-1: runs for 2 s · serve"
    rig.jobs.ended.set()
    result = await rig.call("job_list")
    assert (text_of(result.content), result.raw_output) == ("job-1: exit code 0 after 2 s · serve", {"jobs": ["job-1"]})


async def test_a_look_gives_what_came_since_the_last_one() -> None:
    rig = Rig()
    look = '{"job": "job-1"}'
    assert await rig.told("job_output", look) == "one\n[job-1 runs for 2 s]"
    assert await rig.told("job_output", look) == "(no new output)\n[job-1 runs for 2 s]"
    rig.jobs.text += "two\n"
    assert await rig.told("job_output", look) == "two\n[job-1 runs for 2 s]"
    assert await rig.told("job_output", '{"job": "job-1", "whole": true}') == "one\ntwo\n[job-1 runs for 2 s]"


async def test_output_that_is_gone_is_told() -> None:
    rig = Rig()
    rig.jobs.gone = 2
    assert await rig.told("job_output", '{"job": "job-1"}') == (
        "[2 bytes of output are no longer kept]\ne\n[job-1 runs for 2 s]"
    )


async def test_a_look_can_wait_for_the_end_and_a_cancelled_turn_does_not() -> None:
    rig = Rig()
    wait = '{"job": "job-1", "wait_seconds": 300}'
    waiting = asyncio.ensure_future(rig.call("job_output", wait))
    await asyncio.sleep(0)
    assert not waiting.done()
    rig.jobs.ended.set()
    assert (await waiting).raw_output == {"job": "job-1", "running": False}
    rig = Rig()
    waiting = asyncio.ensure_future(rig.call("job_output", wait))
    await asyncio.sleep(0)
    rig.context.cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await waiting


async def test_a_stopped_job_is_told_as_it_ended() -> None:
    rig = Rig()
    result = await rig.call("job_stop", '{"job": "job-1"}')
    assert (text_of(result.content), result.raw_output) == ("[job-1 exit code 0 after 2 s]", {"job": "job-1"})


@pytest.mark.parametrize("name", ["job_output", "job_stop"])
async def test_a_job_of_another_life_is_told_as_such(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        await Rig().call(name, '{"job": "job-7"}')
    assert caught.value.code == "NO_SUCH_JOB"
    assert caught.value.message.endswith("Jobs end with the server that started them.")


async def test_none_of_them_needs_consent() -> None:
    for tool in Rig().tools.values():
        arguments = read_arguments(tool, "{}" if tool.name == "job_list" else '{"job": "job-1"}')
        assert tool.effect(arguments, "/p") == Effect("none")
        assert tool.parallel(arguments) is (tool.name == "job_list")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (JobFacts("j", "t", running=True, seconds=1.6), "runs for 2 s"),
        (JobFacts("j", "t", running=False, seconds=0.0, error="no box"), "never ran: no box"),
        (JobFacts("j", "t", running=False, seconds=3.0, outcome=DONE), "exit code 0 after 3 s"),
    ],
)
def test_how_a_job_is(facts: JobFacts, words: str) -> None:
    assert how(facts) == words
