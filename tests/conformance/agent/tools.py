"""The agent's tools: files and commands of one directory, with what their cards show."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Obj = dict[str, Any]
KINDS = {"read_file": "read", "write_file": "edit", "edit_file": "edit", "shell": "execute"}
ASKS = frozenset({"write_file", "edit_file", "shell"})
NAMES = {**KINDS, "ask": "other", "todo": "think"}
SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
SHOWN_CHARACTERS = 20_000


class ToolError(Exception):
    """A call failed; the text is its result."""


@dataclass(slots=True)
class Shown:
    """What the card of a call has."""

    title: str
    kind: str
    locations: list[Obj] = field(default_factory=list)


def specs(more: list[str]) -> list[Obj]:
    """Return what the model is told of the tools."""
    kinds = {"type": "object", "properties": {}}
    return [{"type": "function", "function": {"name": name, "parameters": kinds}} for name in [*NAMES, *more]]


def shown(name: str, args: Obj, cwd: Path) -> Shown:
    place = [{"path": str(cwd / args["path"])}] if isinstance(args.get("path"), str) else []
    words = str(args.get("command") or args.get("path") or args.get("question") or "")
    return Shown(f"{name} {words}".strip().split("\n")[0][:100], NAMES.get(name, "other"), place)


def inside(cwd: Path, name: str) -> Path:
    path = (cwd / name).resolve()
    if not path.is_relative_to(cwd.resolve()):
        raise ToolError("the path leaves the session's directory")
    return path


def read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as why:
        raise ToolError(f"{path.name}: {why.strerror}") from why


def changed(name: str, args: Obj, old: str | None) -> str:
    """Return the text that a call makes of a file."""
    if name == "write_file":
        return str(args["content"])
    if old is None or args["old"] not in old:
        raise ToolError("there is no such text")
    return old.replace(args["old"], args["new"])


def diff(path: Path, old: str | None, new: str) -> Obj:
    return {"type": "diff", "path": str(path), "newText": new, **({} if old is None else {"oldText": old})}


async def shell(command: str, cwd: Path) -> str:
    """Return the output; ends the command with all that it started when cancelled."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        out, _ = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return SEQUENCE.sub("", out.decode("utf-8", "replace"))[:SHOWN_CHARACTERS]
