"""The Python client that scripts import, against the real server (editor-clients/python)."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from acp_server_client import AgentDied, AgentError, Client, Permission, Turn, allow_once

from tests.e2e.stage import Stage, script
from tests.support.launch import COMMAND, REPOSITORY

SECONDS = 60
WRITE = 'call write {"path": "notes.txt", "content": "kept\\n"}'


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[Client]:
    async with Client(COMMAND, environment=stage.environment(), directory=str(stage.root)) as made:
        yield made


async def test_a_turn_is_its_updates_and_its_end(stage: Stage, client: Client) -> None:
    session = await client.new_session(str(stage.project))
    turn = session.prompt(script("think hm", "call list {}", "step", "chunks 3", "say one two three"))
    kinds = [update.kind async for update in turn]
    assert await turn.stop_reason == "end_turn"
    assert turn.text == "one two three"
    assert kinds.count("agent_message_chunk") >= 1
    assert {"agent_thought_chunk", "tool_call", "tool_call_update"} <= set(kinds)
    assert await session.ask(script("say again")) == "again"


async def test_questions_are_answered_by_the_script_and_rejected_without_one(stage: Stage, client: Client) -> None:
    session = await client.new_session(str(stage.project))
    assert await session.ask(script(WRITE, "step", "say over")) == "over"
    assert not (stage.project / "notes.txt").exists()
    asked: list[Permission] = []

    async def consent(permission: Permission) -> str | None:
        asked.append(permission)
        return await allow_once(permission)

    async with Client(COMMAND, environment=stage.environment(), consent=consent) as other:
        session = await other.new_session(str(stage.project))
        await session.ask(script(WRITE, "step", "say over"))
    assert (stage.project / "notes.txt").read_text("utf-8") == "kept\n"
    assert [(question.session_id, question.tool_call["kind"]) for question in asked] == [(session.id, "edit")]


async def test_modes_options_cancel_and_close(stage: Stage, client: Client) -> None:
    session = await client.new_session(str(stage.project))
    await session.set_mode("auto")
    options = await session.set_option("mode", "plan")
    assert [o["currentValue"] for o in options["configOptions"] if o["id"] == "mode"] == ["plan"]
    with pytest.raises(AgentError, match="modeId"):
        await session.set_mode("wild")
    turn = session.prompt(script("say begun", "hang"))
    async for update in turn:
        if update.text:
            session.cancel()
    assert (await turn.stop_reason, turn.text) == ("cancelled", "begun")
    await session.close()
    with pytest.raises(AgentError, match="not found"):
        await session.ask("x")


def canaries(number: int) -> str:
    return "-".join([f"canary-{number}"] * 20)


async def test_twenty_sessions_at_once_do_not_cross(stage: Stage, client: Client) -> None:
    async def one(number: int) -> tuple[str, str]:
        session = await client.new_session(str(stage.project))
        text = await session.ask(script("chunks 20", f"say {canaries(number)}", "call list {}", "step", "say end"))
        return session.id, text

    found = await asyncio.gather(*(one(number) for number in range(20)))
    assert [text for _, text in found] == [canaries(number) + "end" for number in range(20)]
    listed = await client.sessions(str(stage.project))
    assert {entry["sessionId"] for entry in listed} == {ident for ident, _ in found}


async def test_a_server_that_dies_in_mid_turn_is_told_and_the_session_comes_back(stage: Stage, client: Client) -> None:
    session = await client.new_session(str(stage.project))
    await session.ask(script("say before"))
    turn = session.prompt(script("say begun", "hang"))
    async for update in turn:
        if update.text:
            assert client.pid is not None
            await asyncio.sleep(0.5)  # text is durable at most 300 ms after it was shown (clause P-21)
            os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(AgentDied) as died:
        await turn.stop_reason
    assert died.value.exit_code == -signal.SIGKILL
    with pytest.raises(AgentDied):
        await session.ask("x")
    await client.start()
    again = await client.load_session(session.id, str(stage.project))
    assert "".join(update.text for update in again.updates) == "beforebegun"
    assert await again.ask(script("say after")) == "after"


async def test_twenty_turns_at_once_outlive_their_server(stage: Stage, client: Client) -> None:
    """Each of them hears of the death, and each conversation is there afterwards."""
    sessions = [await client.new_session(str(stage.project)) for _ in range(20)]
    turns = [session.prompt(script(f"say {canaries(number)}", "hang")) for number, session in enumerate(sessions)]

    async def shown(turn: Turn) -> None:
        async for update in turn:
            if update.text:
                return

    await asyncio.gather(*(shown(turn) for turn in turns))
    assert client.pid is not None
    await asyncio.sleep(1)  # text is durable at most 300 ms after it was shown (clause P-21)
    os.kill(client.pid, signal.SIGKILL)
    ends = await asyncio.gather(*(turn.stop_reason for turn in turns), return_exceptions=True)
    assert {type(end) for end in ends} == {AgentDied}
    await client.start()
    again = await asyncio.gather(*(client.load_session(session.id, str(stage.project)) for session in sessions))
    told = ["".join(update.text for update in session.updates) for session in again]
    assert told == [canaries(number) for number in range(20)]
    assert await asyncio.gather(*(session.ask(script("say on")) for session in again)) == ["on"] * 20


async def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(AgentDied):
        async with Client(["/there/is/no/agent"]):
            pass


def test_the_examples_run(stage: Stage) -> None:
    """The README's script and the shell's two-way pipe, with the scripted model."""
    readme = (REPOSITORY / "editor-clients" / "python" / "README.md").read_text("utf-8")
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found
    text = found[1].replace("/path/to/project", str(stage.project))
    text = text.replace('["acp-server", "acp"]', f"{list(COMMAND)}")
    page = (REPOSITORY / "docs" / "how-to" / "drive-from-a-script.md").read_text("utf-8")
    shell = re.search(r"```bash\n(.*?)```", page, re.DOTALL)
    assert shell
    lines = shell[1].replace("acp-server acp", " ".join(COMMAND))
    for command, expected in (([sys.executable, "-c", text], "end_turn "), (["bash", "-c", lines], "end_turn")):
        done = subprocess.run(
            command,
            cwd=stage.project,
            env=stage.environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
