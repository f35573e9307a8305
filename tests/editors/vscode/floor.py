"""How soon the first text of an answer reaches a client that shows nothing: the floor of the page's own figure."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from statistics import median

from acp_server_client import Client

from tests.support import launch
from tests.support.mock_llm import MockLlm

ROUNDS = 12


async def _ask(project: Path, root: Path, model: MockLlm) -> list[int]:
    env = {**launch.environment(root, model=None), **model.environment("anthropic")}
    late = []
    async with Client(launch.COMMAND, environment=env) as client:
        session = await client.new_session(str(project))
        for _ in range(ROUNDS):
            turn = session.prompt("what time is it?")
            seen = False
            async for _update in turn:
                found = re.search(r"sent (\d{13}) by", turn.text)
                if found and not seen:
                    late.append(time.time_ns() // 1_000_000 - int(found[1]))
                    seen = True
    return late


def measure(project: Path, root: Path, model: MockLlm) -> dict[str, int]:
    """Return the median and the worst in milliseconds."""
    late = asyncio.run(_ask(project, root, model))
    return {"median": round(median(late)), "worst": max(late)}
