"""`acp-server run`: one task without an editor (docs/headless.md)."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, get_args

from acp_server.agent.modes import MODES
from acp_server.app.headless.approver import LEVELS
from acp_server.app.headless.options import RunOptions
from acp_server.app.headless.outcome import EXIT_CODES
from acp_server.app.headless.report import Format
from acp_server.app.headless.run import run_task
from acp_server.app.log_file import LibraryLog, LogFile
from acp_server.app.options import ServeOptions
from acp_server.app.providers import MODEL_VARIABLE
from acp_server.base.printable import visible
from acp_server.jsonrpc.stdio import Stdio, take_over

USAGE: Final = EXIT_CODES["usage"]
EPILOG: Final = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused, 4 a limit was reached, 128+n ended by signal n."
)
_CHUNK: Final = 1 << 16
TASK_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a task from the input at most."""


def run(arguments: Sequence[str]) -> int:
    """Do the task; the process ends here, with the exit code of the run."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.resume and given.newest:
        parser.error("--resume and --continue exclude each other")
    if not os.path.isdir(given.cwd):  # noqa: PTH112 - paths are text here
        parser.error(f"--cwd {given.cwd} is no directory that exists")
    terminal = _is_terminal(2)
    reads = given.task == ["-"] or not (given.task or given.resume or given.newest)
    if reads and _is_terminal(0):
        parser.error("a task is needed, as an argument or on the input")
    stdio = take_over()
    task = _read_task(stdio.in_fd) if reads else " ".join(given.task)
    if task is None or (reads and not task.strip()):
        words = "the task on the input is empty" if task is not None else f"the task has over {TASK_LIMIT} bytes"
        _say(f"acp-server run: {words}")
        return USAGE
    options = RunOptions(
        task=task if task.strip() else "",
        cwd=given.cwd,
        form=given.output_format,
        resume=given.resume,
        newest=given.newest,
        model=given.model,
        mode=given.mode,
        approve=given.approve,
        preset=given.preset,
        images=tuple(given.image),
        seconds=given.timeout,
    )
    serve = ServeOptions(
        log=given.log,
        profile=given.profile,
        patches=tuple(map(os.path.abspath, given.patch)),
        front="headless",
        max_steps=given.max_steps,
    )
    os._exit(_run(stdio, options, serve, terminal=terminal))  # a thread that waits for a host must not keep the process


def _run(stdio: Stdio, options: RunOptions, serve: ServeOptions, *, terminal: bool) -> int:
    log = LogFile(serve.log, serve.log_level)
    logging.getLogger().addHandler(LibraryLog(log))
    environment = dict(os.environ)
    if options.model is not None:
        environment[MODEL_VARIABLE] = options.model
    try:
        return asyncio.run(run_task(environment, stdio, log, options, serve=serve, say=_say, terminal=terminal))
    finally:
        log.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-server run", description="Do one task without an editor; print the answer.", epilog=EPILOG
    )
    add = parser.add_argument
    add("task", nargs="*", metavar="TASK", help="what to do; `-` or nothing: read it from the input")
    add("--output-format", choices=get_args(Format), default="text", help="what is printed (default: the answer)")
    add("--resume", metavar="ID", help="go on in that session; without a task, do what was left unfinished in it")
    add("--continue", dest="newest", action="store_true", help="go on in the newest session of the directory")
    add("--model", metavar="PROVIDER/MODEL", help="who answers (default: as configured)")
    add("--mode", choices=MODES, help="how much happens without a question (default: ask)")
    add("--preset", metavar="NAME", help="what the agent is made of, see acp-server presets (default: standard)")
    add("--approve", choices=tuple(LEVELS), default="none", help="which questions are answered yes (default: none)")
    add("--image", metavar="FILE", action="append", default=[], help="an image for the task; may be repeated")
    add("--max-steps", type=_positive(int), metavar="N", help="requests to the model at most")
    add("--timeout", type=_positive(float), metavar="SECONDS", help="how long the run may take")
    add("--cwd", type=os.path.abspath, default=".", metavar="DIR", help="the project (default: here)")
    add("--profile", metavar="NAME", help="what the process is made of (default: headless, as shipped)")
    add("--patch", metavar="FILE", action="append", default=[], help="change what it is made of; may be repeated")
    add("--log", metavar="FILE", help="append a diagnostic log to FILE (default: none)")
    return parser


def _positive(number: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        found = number(text)
        if not 0 < found < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is no positive number")
        return found

    return read


def _read_task(descriptor: int) -> str | None:
    """Return the whole input as text, None when it is longer than a task may be."""
    parts, size = [], 0
    while data := os.read(descriptor, _CHUNK):
        parts.append(data)
        size += len(data)
        if size > TASK_LIMIT:
            return None
    return b"".join(parts).decode("utf-8", "replace").strip()


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _say(words: str) -> None:
    """Write to the descriptor: `sys.stderr` is not there when it was closed as the interpreter began."""
    with suppress(OSError):
        os.write(2, "".join(f"{visible(line)}\n" for line in words.splitlines()).encode("utf-8", "replace"))
