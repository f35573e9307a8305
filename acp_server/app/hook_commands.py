"""Running a hook's command: JSON on its input, its output back, and its certain end (docs/hooks.md, section R).

It runs as the person would run it, outside of the sandbox, with no variable that holds a key.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from acp_server.app.hook_dialect import Hook, Ran
from acp_server.app.keys import PROVIDER_VARIABLES
from acp_server.sandbox.strays import MARK, end_strays
from acp_server.tools.mcp.program import passed_on

MOST_OUTPUT: Final = 256 * 1024
_READ: Final = 1 << 16
PROJECT: Final = "CLAUDE_PROJECT_DIR"
"""The variable by which commands of this dialect know the project."""


async def run_hook(hook: Hook, told: bytes, cwd: str, environment: Mapping[str, str]) -> Ran:
    """Run the command to its end or its limit; nothing of it is left, also when this is cancelled."""
    word = secrets.token_hex(16)
    variables = {name: text for name, text in passed_on(environment).items() if name not in PROVIDER_VARIABLES}
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            hook.command,
            cwd=cwd,
            env={**variables, PROJECT: cwd, MARK: word},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Ran(None, stderr=str(error))
    talk = asyncio.gather(_say(process.stdin, told), _take(process.stdout), _take(process.stderr))
    try:
        async with asyncio.timeout(hook.seconds):
            _, stdout, stderr = await talk
            return Ran(await process.wait(), stdout, stderr)
    except TimeoutError:
        return Ran(None, stderr=f"it took longer than {hook.seconds:g} s")
    finally:
        talk.cancel()
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        end_strays(word)
        with suppress(asyncio.CancelledError):
            await asyncio.gather(talk, return_exceptions=True)
        await process.wait()


async def _say(stdin: asyncio.StreamWriter | None, told: bytes) -> None:
    if stdin is not None:
        with suppress(OSError):  # a command need not read
            stdin.write(told)
            await stdin.drain()
        stdin.close()


async def _take(stream: asyncio.StreamReader | None) -> str:
    """Return what comes, the first part of it where there is too much; all of it is read."""
    parts, size = list[bytes](), 0
    while stream is not None and (data := await stream.read(_READ)):
        if size < MOST_OUTPUT:
            parts.append(data[: MOST_OUTPUT - size])
            size += len(data)
    return b"".join(parts).decode("utf-8", "replace")
