"""One command and many in the background: output in bounded memory, live text, jobs, and what a server is told."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.errors import ServerError
from acp_server.sandbox.confine import LADDER, SHELL, Backend, ConfinedCommand, confine
from acp_server.sandbox.host import read_host
from acp_server.sandbox.limits import Limits
from acp_server.sandbox.policy import Level, Policy
from acp_server.sandbox.probe import describe, probe
from acp_server.sandbox.process import BackgroundJobs, CommandOutcome, JobFacts, run_command
from tests.security.test_survivors import carriers

GROWTH_KIB = 4096


class Bench:
    """A workspace and the best box, in this process."""

    def __init__(self, base: Path) -> None:
        self.workspace, home = base / "ws", base / "home"
        self.workspace.mkdir()
        home.mkdir()
        self.backend = probe(read_host({"HOME": str(home), "PATH": os.environ["PATH"]}, str(base / "state")))

    def command(self, text: str, level: Level = "workspace-write") -> ConfinedCommand:
        return confine(Policy(level, str(self.workspace)), [*SHELL, text], str(self.workspace), self.backend)

    async def run(self, text: str, level: Level = "workspace-write", **more: object) -> CommandOutcome:
        return await run_command(self.command(text, level), **more)  # type: ignore[arg-type]  # a table of keywords


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path.resolve())
    if made.backend.kind == "none":
        pytest.skip(f"no sandbox works here: {made.backend.passed_over}")
    return made


def resident_kib() -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


async def test_an_outcome_is_told_as_it_was(bench: Bench) -> None:
    outcome = await bench.run("echo out; echo err >&2; exit 3")
    assert (outcome.exit_code, outcome.signal, outcome.output.text) == (3, None, "out\nerr\n")
    assert (outcome.timed_out, outcome.cancelled, outcome.flooded, outcome.denied) == (False, False, False, ())
    assert (outcome.level, outcome.kind) == ("workspace-write", bench.backend.kind)


async def test_there_is_no_input_to_wait_for(bench: Bench) -> None:
    outcome = await bench.run(
        "read line; echo \"got $? '$line'\"; cat; git --no-pager --version > /dev/null && echo end"
    )
    assert outcome.output.text == "got 1 ''\nend\n"


async def test_output_is_shown_as_it_comes(bench: Bench) -> None:
    seen: list[str] = []
    first = asyncio.Event()

    def show(text: str) -> None:
        seen.append(text)
        first.set()

    task = asyncio.ensure_future(
        bench.run("printf 'one \\033[31m\\303'; sleep 0.3; printf '\\244\\033[0m\\n'", on_output=show)
    )
    await first.wait()
    assert (seen, task.done()) == (["one "], False)
    assert ("".join(seen), (await task).output.text)[1] == "one ä\n"
    assert "".join(seen) == "one ä\n"


async def test_a_gigabyte_of_output_costs_no_memory(bench: Bench, tmp_path: Path) -> None:
    await bench.run("head -c 5000000 /dev/zero")
    before, spill = resident_kib(), tmp_path / "spill"
    outcome = await bench.run("head -c 1000000000 /dev/zero | tr '\\0' x; echo unreached", spill=str(spill))
    size = spill.stat().st_size
    assert (outcome.flooded, outcome.output.spill, stat.S_IMODE(spill.stat().st_mode)) == (True, str(spill), 0o600)
    assert 64 << 20 <= size < (64 << 20) + (1 << 17)
    assert outcome.output.total == size
    assert len(outcome.output.text) < (2 << 20)
    del outcome
    assert resident_kib() - before <= GROWTH_KIB


async def test_long_output_is_on_the_disk_whole_and_short_output_is_not(bench: Bench, tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    outcome = await bench.run("seq 400000", spill=str(long))
    expected = "".join(f"{number}\n" for number in range(1, 400_001))
    assert (long.read_text(), outcome.exit_code) == (expected, 0)
    assert (outcome.output.head, outcome.output.tail) == (expected[: 64 << 10], expected[-len(outcome.output.tail) :])
    await bench.run("echo short", spill=str(short))
    assert short.exists() is False


async def test_a_spill_file_that_cannot_be_made_costs_nothing_else(bench: Bench, tmp_path: Path) -> None:
    outcome = await bench.run("seq 100000", spill=str(tmp_path / "none/spill"))
    assert (outcome.exit_code, outcome.output.spill) == (0, None)


async def test_a_cancelled_command_ends_soon(bench: Bench) -> None:
    token, loop = CancelToken(), asyncio.get_running_loop()
    loop.call_later(0.3, token.cancel, BY_USER)
    outcome = await bench.run("trap '' TERM; echo a; sleep 60", cancel=token)
    assert (outcome.cancelled, outcome.signal, outcome.output.text) == (True, 9, "a\n")
    assert outcome.seconds < 3


async def test_the_kernel_limits_every_process_of_a_box(bench: Bench) -> None:
    limits = "ulimit -c; ulimit -Hn; ulimit -f; cat /proc/self/oom_score_adj"
    outcome = await bench.run(f"{limits}; bash -c '{limits}'")
    assert outcome.output.text == "0\n4096\n2097152\n500\n" * 2


async def test_a_cancelled_task_leaves_nothing(bench: Bench) -> None:
    task = asyncio.ensure_future(bench.run("echo $$ > pid; sleep 61.25"))
    await until((bench.workspace / "pid").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert carriers("61.25") == []
    assert sorted(path.name for path in bench.workspace.iterdir()) == ["pid"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.02)


async def test_full_access_is_not_confined_and_still_clean(bench: Bench, tmp_path: Path) -> None:
    outcome = await bench.run(f"echo x > {tmp_path}/outside; env | grep -c API_KEY; ulimit -c", "full-access")
    assert ((tmp_path / "outside").read_text(), outcome.output.text, outcome.kind) == ("x\n", "0\n0\n", "none")


async def test_what_was_denied_is_told(bench: Bench) -> None:
    outcome = await bench.run("touch /usr/x; mkdir .vscode")
    assert outcome.denied == (
        "[sandbox: write denied under workspace-write: /usr/x]",
        f"[sandbox: write denied under workspace-write: {bench.workspace}/.vscode]",
    )


async def test_a_box_that_cannot_be_built_is_no_outcome(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    command = bench.command("echo never")
    (bench.workspace / "x").mkdir()
    command.argv = tuple("/no/such/place" if word == str(bench.workspace) else word for word in command.argv)
    with pytest.raises(ServerError) as raised:
        await run_command(command)
    assert raised.value.code == "SANDBOX_FAILED"
    assert "did not run" in raised.value.message
    assert [path.name for path in bench.workspace.iterdir()] == ["x"]


async def test_without_a_box_there_are_no_commands_below_full_access(bench: Bench) -> None:
    bare = Backend("none", bench.backend.host, bench.backend.leftovers, ("bubblewrap: it is not installed",))
    for level in ("read-only", "workspace-write"):
        with pytest.raises(ServerError) as raised:
            confine(Policy(level, str(bench.workspace)), ["true"], str(bench.workspace), bare)
        assert (raised.value.code, "it is not installed" in raised.value.message) == ("SANDBOX_UNAVAILABLE", True)
    outcome = await run_command(confine(Policy("full-access", "/"), ["true"], "/", bare))
    assert outcome.exit_code == 0


def test_a_directory_that_is_gone_is_told(bench: Bench) -> None:
    with pytest.raises(ServerError) as raised:
        confine(Policy("read-only", str(bench.workspace)), ["true"], f"{bench.workspace}/none", bench.backend)
    assert raised.value.code == "INVALID_CWD"


def test_the_directory_of_a_command_widens_nothing(bench: Bench) -> None:
    command = confine(Policy("workspace-write", str(bench.workspace)), [*SHELL, "pwd; touch x"], "/usr", bench.backend)
    outcome = asyncio.run(run_command(command))
    assert (outcome.exit_code, outcome.output.text.split("\n")[0]) == (1, "/usr")
    assert not Path("/usr/x").exists()


def test_what_is_enforced_is_described(bench: Bench) -> None:
    facts = describe(bench.backend)
    assert facts["sandbox"] in LADDER
    assert facts["enforcement"] == bench.backend.enforcement
    assert bool(facts["gaps"]) == (bench.backend.enforcement == "partial")


@pytest.fixture
async def jobs(bench: Bench) -> AsyncIterator[BackgroundJobs]:
    made = BackgroundJobs(limits=Limits(cancel_grace_seconds=0.05), most=2)
    yield made
    await made.close()


async def test_a_job_runs_is_read_on_and_is_noticed_when_it_ends(bench: Bench) -> None:
    told: list[JobFacts] = []
    jobs = BackgroundJobs(on_end=told.append)
    name = jobs.start(bench.command("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two"), "a job")
    await until(lambda: jobs.output_since(name).next_offset >= 4)
    first = jobs.output_since(name)
    assert (first.text, first.next_offset, first.omitted, first.running) == ("one\n", 4, 0, True)
    (facts,) = jobs.list()
    assert (facts.id, facts.title, facts.running, facts.outcome) == ("job-1", "a job", True, None)
    (bench.workspace / "go").touch()
    await until(lambda: bool(told))
    rest = jobs.output_since(name, first.next_offset)
    assert (rest.text, rest.next_offset, rest.running) == ("two\n", 8, False)
    (ended,) = told
    assert ended.outcome is not None
    assert (ended.id, ended.running, ended.outcome.exit_code) == ("job-1", False, 0)


async def test_jobs_are_counted_stopped_and_closed(bench: Bench, jobs: BackgroundJobs) -> None:
    names = [jobs.start(bench.command("sleep 60"), f"job {number}") for number in range(2)]
    with pytest.raises(ServerError) as raised:
        jobs.start(bench.command("sleep 60"), "one too many")
    assert raised.value.code == "TOO_MANY_JOBS"
    stopped = await jobs.stop(names[0])
    assert stopped.outcome is not None
    assert (stopped.running, stopped.outcome.cancelled) == (False, True)
    assert [facts.running for facts in jobs.list()] == [False, True]
    with pytest.raises(ServerError) as raised:
        jobs.output_since("job-9")
    assert raised.value.code == "NO_SUCH_JOB"
    await jobs.close()
    assert [facts.running for facts in jobs.list()] == [False, False]
    assert list(bench.workspace.iterdir()) == []
