"""A server that is a program: its process, its pipes, and its certain end (docs/mcp.md, clauses P-1 to P-7).

Owns which program a name means, what it inherits, and that nothing of it is left. The program runs as the person
would run it, outside of the sandbox: who names it is the person, in the editor or in the settings.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from acp_server.base.cancel import CancelToken
from acp_server.jsonrpc.encoding import json_text
from acp_server.jsonrpc.envelope import Answer, Call, Ignored, Refused, read_message
from acp_server.jsonrpc.framing import LineSplitter, TooLong
from acp_server.llm.waiting import until
from acp_server.sandbox.environment import is_secret_shaped, search_path
from acp_server.sandbox.strays import MARK, end_strays
from acp_server.tools.mcp.dialogue import McpError
from acp_server.tools.mcp.servers import McpServer

LONGEST_LINE: Final = 16 * 1024 * 1024
READ_BYTES: Final = 1 << 16
STDERR_KEPT: Final = 4096
GRACE_SECONDS: Final = 0.2
"""How long a program may take to end by itself once its input has ended, and again after the signal TERM."""
KILL_SECONDS: Final = 5.0
_SETPRIV: Final = "/usr/bin/setpriv"
_OWN_PREFIX: Final = "ACP_SERVER_"

Take = Callable[[Call | Answer | Refused | Ignored], None]


class Program:
    """See Channel."""

    def __init__(self, process: asyncio.subprocess.Process, word: str, take: Take, lost: Callable[[str], None]) -> None:
        self._process = process
        self._word = word
        self._take = take
        self._lost = lost
        self._said = b""
        self._tasks = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._read_stderr())]

    async def send(self, message: Mapping[str, Any], cancel: CancelToken) -> None:
        """See Channel; returns once the pipe has taken the message."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise McpError("MCP_GONE", "it has ended")
        try:
            stdin.write(json_text(message).encode() + b"\n")
            await until(stdin.drain(), cancel)
        except (OSError, RecursionError) as error:
            raise McpError("MCP_GONE", "it takes no input any more") from error

    async def close(self) -> None:
        """End the program and everything that it has started; in about half a second, whatever it does."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._ended(GRACE_SECONDS)
        self._signal(signal.SIGTERM)
        await self._ended(GRACE_SECONDS)
        self._signal(signal.SIGKILL)
        end_strays(self._word)
        await self._ended(KILL_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ended(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)

    def _signal(self, number: int) -> None:
        """Signal the program and its own group, which outlives it where it has started others."""
        with suppress(OSError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        splitter, stdout = LineSplitter(LONGEST_LINE), self._process.stdout
        while stdout is not None and (data := await stdout.read(READ_BYTES)):
            for line in splitter.feed(data):
                if isinstance(line, TooLong):
                    self._lost(f"it sent a line of more than {line.limit} bytes")
                    self._signal(signal.SIGKILL)
                    return
                self._take(read_message(line))
        code = await self._process.wait()
        await asyncio.wait(self._tasks[1:], timeout=GRACE_SECONDS)
        self._lost(f"{_how(code)}{self._last_words()}")

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (data := await stderr.read(READ_BYTES)):
            self._said = (self._said + data)[-STDERR_KEPT:]

    def _last_words(self) -> str:
        """Return the last line that it wrote to stderr, where there is one."""
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""


async def start_program(
    server: McpServer, cwd: str, environment: Mapping[str, str], take: Take, lost: Callable[[str], None]
) -> Program:
    """Start the server's program in the session's directory; `environment` is this process's own.

    Raises:
        McpError: MCP_GONE, with why it cannot be started.
    """
    path = find_program(server.command or "", environment.get("PATH", ""), cwd)
    word = secrets.token_hex(16)
    try:
        process = await asyncio.create_subprocess_exec(
            *_tied(path),
            *server.args,
            cwd=cwd,
            env={**passed_on(environment), **dict(server.env), MARK: word},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "a NUL in its words"
        raise McpError("MCP_GONE", f"{path} cannot be started: {reason}") from error
    return Program(process, word, take, lost)


def find_program(command: str, listed: str, cwd: str) -> str:
    """Return the absolute path of a program; a bare name is looked for in PATH, outside of the session's directory.

    Raises:
        McpError: MCP_GONE, there is none.
    """
    if "/" in command:
        path = os.path.join(cwd, command)  # noqa: PTH118 - likewise
        if not os.path.isfile(path):  # noqa: PTH113 - likewise
            raise McpError("MCP_GONE", f"{command} does not exist")
        if not os.access(path, os.X_OK):
            raise McpError("MCP_GONE", f"{command} is not executable")
        return path
    found = shutil.which(command, path=search_path(listed, (cwd, os.path.realpath(cwd)))) if command else None
    if found is None:
        raise McpError("MCP_GONE", f"there is no program {command!r} in PATH")
    return found


def _tied(path: str) -> tuple[str, ...]:
    """Return the start of a command that ends when this process ends, however that is, where the system can do that."""
    return (_SETPRIV, "--pdeathsig", "KILL", "--", path) if os.path.exists(_SETPRIV) else (path,)  # noqa: PTH110


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a program inherits: none that holds a key, none of this server's own."""
    return {
        name: text
        for name, text in environment.items()
        if not name.startswith(_OWN_PREFIX) and not is_secret_shaped(name, text)
    }


def _how(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with code {code}"
