"""A conversation of many messages, made by the server itself before the editor is opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

from acp_server_client import Client

from tests.support import launch

ANSWER = "Answer {n}: a list\n\n- one with `code`\n- two with **weight**\n\n```python\nvalue = {n}\n```"


async def _talk(project: Path, state: Path, turns: int) -> None:
    env = {**launch.environment(state.parent), "ACP_SERVER_HOME": str(state)}
    async with Client(launch.COMMAND, environment=env) as client:
        session = await client.new_session(str(project))
        for n in range(turns):
            words = ANSWER.format(n=n).replace("\n", "\\n")
            await session.ask(f"@script\nsay {words}" if n else "Many messages")


def make(project: Path, state: Path, turns: int) -> None:
    """Hold a conversation of so many turns, two messages each."""
    asyncio.run(_talk(project, state, turns))
