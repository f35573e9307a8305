"""The shell in a terminal of the person's editor: outside of the sandbox, where the person chose that (docs/tools.md).

Owns how a command is handed over so that every client runs the very text that was consented to, and that a terminal is
given back whatever happens. Without a client that has terminals, and where only reading is allowed, the sandbox's shell
runs the command.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from contextlib import suppress
from typing import Final

from acp_server.base.cancel import Cancelled
from acp_server.base.values import replace
from acp_server.messages.blocks import TextBlock
from acp_server.sandbox.readable import readable
from acp_server.tools.bash import BashArguments, BashTool
from acp_server.tools.client_side import ClientFailedError, Terminal, TerminalCommand, TerminalExit, TerminalOutput
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

OUTPUT_BYTES: Final = 200_000
"""Output that a client is asked to keep, its end where there is more."""
ENVIRONMENT: Final = (("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"))
_OUTPUT_SECONDS: Final = 5.0
_LAST_SECONDS: Final = 0.3
"""For the output of a command whose turn was cancelled."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:,@%+=-]+")
_SHELL_WORD: Final = re.compile(
    r"""\.|:|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt|continue|coproc|declare|dirs
    |disown|do|done|elif|else|enable|esac|eval|exec|exit|export|fc|fg|fi|for|function|getopts|hash|help|history|if|in
    |jobs|let|local|logout|mapfile|popd|pushd|read|readarray|readonly|return|select|set|shift|shopt|source|suspend|then
    |time|times|trap|type|typeset|ulimit|umask|unalias|unset|until|wait|while""",
    re.VERBOSE,
)
"""What is no program, or another one than the shell's."""


class TerminalBash:
    """See Tool: `bash` as it is offered, run in the client's terminal."""

    name: Final = BashTool.name
    description: Final = BashTool.description
    arguments: Final = BashArguments

    def __init__(self, confined: BashTool) -> None:
        self._confined = confined

    def effect(self, arguments: BashArguments, cwd: str) -> Effect:
        """See Tool."""
        effect = self._confined.effect(arguments, cwd)
        return effect if _stays(arguments) else replace(effect, unconfined=True)

    def card(self, arguments: BashArguments, cwd: str) -> Card:
        """See Tool."""
        return self._confined.card(arguments, cwd)

    def parallel(self, arguments: BashArguments) -> bool:
        """See Tool."""
        return self._confined.parallel(arguments)

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolResult:
        """See Tool. Only a call whose level is full access was judged as one that leaves the sandbox."""
        if _stays(arguments) or context.policy.level != "full-access" or not context.client.terminals:
            return await self._confined.run(arguments, context)
        program, words, script = await asyncio.to_thread(handed_over, arguments.command)
        try:
            command = TerminalCommand(program, words, context.cwd, ENVIRONMENT, OUTPUT_BYTES)
            terminal = await context.client.open_terminal(command, context.call_id, context.cancel)
            return await _to_end(terminal, arguments.timeout_seconds, context)
        except ClientFailedError as error:
            raise ToolError(error.code, f"the command did not run in the editor's terminal: {error.message}") from error
        finally:
            if script is not None:
                with suppress(OSError):
                    await asyncio.to_thread(os.unlink, script)


def handed_over(command: str) -> tuple[str, tuple[str, ...], str | None]:
    """Return program, arguments and, where one was needed, the path of a script for the caller to remove.

    Some clients start a program with its arguments, others join all with blanks and give that to a shell. Words that no
    shell looks into mean the same to both. Any other command goes into a script, whose path is such a word.
    """
    words = command.split(" ")
    if all(_PLAIN.fullmatch(word) for word in words) and not _SHELL_WORD.fullmatch(words[0]) and "=" not in words[0]:
        return words[0], tuple(words[1:]), None
    descriptor, path = tempfile.mkstemp(prefix="acp-server-command-", suffix=".sh")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"exec </dev/null\n{command}\n")
    return "bash", (path,), path


def _stays(arguments: BashArguments) -> bool:
    """Whether it runs in the sandbox whatever was chosen: a background job has no card that could hold a terminal."""
    return getattr(arguments, "background", False) is True


async def _to_end(terminal: Terminal, seconds: int, context: ToolContext) -> ToolResult:
    """Wait for the command's end and tell it; the terminal is given back on every way out."""
    ended, stopped, shown = None, None, None
    try:
        ended = await terminal.wait(float(seconds), context.cancel)
        if ended is None:
            stopped = f"[stopped after {seconds} s]"
            terminal.kill()
        shown = await terminal.output(_OUTPUT_SECONDS)
    except ClientFailedError as error:
        stopped = f"[stopped because the editor could not say how it ended: {error.message}]"
        terminal.kill()
        shown = await terminal.output(_OUTPUT_SECONDS)
    except Cancelled:
        stopped = "[stopped because the turn was cancelled]"
        terminal.kill()
        shown = await terminal.output(_LAST_SECONDS)
    except asyncio.CancelledError:
        terminal.kill()
        raise
    finally:
        terminal.release()
    if stopped is not None:
        raise ToolError("COMMAND_STOPPED", "\n".join([*_output_lines(shown), stopped]))
    return _told(ended, shown)


def _told(ended: TerminalExit | None, shown: TerminalOutput | None) -> ToolResult:
    end = shown.exit if shown is not None and shown.exit is not None and ended == TerminalExit(None, None) else ended
    code, signal = (None, None) if end is None else (end.code, end.signal)
    how = f"[exit code {code}]" if code is not None else f"[ended by signal {signal or 'unknown'}]"
    return ToolResult((TextBlock("\n".join([*_output_lines(shown), how])),), raw_output={"exitCode": code})


def _output_lines(shown: TerminalOutput | None) -> list[str]:
    if shown is None:
        return ["[the editor did not give the output]"]
    text = readable(shown.text[-OUTPUT_BYTES:].encode("utf-8", "replace"))
    lines = [text.rstrip("\n")] if text.strip() else ["(no output)"]
    return ["[the beginning is left out]", *lines] if shown.truncated or len(shown.text) > OUTPUT_BYTES else lines
