"""`/export`: the conversation as a file of the project (docs/extensions.md, clauses EX-26 to EX-29)."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Final

from acp_server.acp.rendering import shown_line
from acp_server.agent.agent import Agent
from acp_server.base.errors import ServerError
from acp_server.persistence.export_file import write_file
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.lines import event_lines, header_line
from acp_server.session.transcript import transcript

HINT: Final = "[markdown | jsonl] [FILE]"
_SUFFIXES: Final = {"markdown": ".md", "jsonl": ".jsonl"}
_SLUG: Final = 40


async def export(agent: Agent, args: str) -> str:
    """Write the conversation; return what the person is told. Raise ServerError, nothing has changed then."""
    form, name = _asked(args)
    session = agent.session
    path = _path(session.header.cwd, name or _name(agent) + _SUFFIXES[form])
    events = list(session.events.milestones() if form == "markdown" else session.events.since(0))
    await asyncio.to_thread(_write, path, form, session.header, events)
    return f"The conversation is in `{shown_line(path)}`."


def _asked(args: str) -> tuple[str, str]:
    """Return the format and the file's name, which may be missing; a name's end says the format too."""
    first, _, rest = args.partition(" ")
    if first in _SUFFIXES:
        return first, rest.strip()
    return ("jsonl" if args.endswith(_SUFFIXES["jsonl"]) else "markdown"), args


def _write(path: str, form: str, header: SessionHeader, events: list[SessionEvent]) -> None:
    text = transcript(header, events) if form == "markdown" else "".join((header_line(header), *event_lines(events)))
    write_file(path, text.encode(), force=False)


def _path(cwd: str | None, name: str) -> str:
    """Return where the file goes: a relative name stays within the project, whatever links there are in it."""
    root = os.path.realpath(cwd or "/")
    if name.startswith("/"):
        return name
    path = os.path.join(root, name)  # noqa: PTH118 - the name stays as the person gave it
    folder = os.path.realpath(os.path.dirname(path))  # noqa: PTH120 - as above
    if os.path.commonpath((root, folder)) != root:
        raise ServerError("OUTSIDE", f"{name} leads out of the project; name the whole path to write there.")
    return path


def _name(agent: Agent) -> str:
    title = ""
    for event in agent.session.events.of_types(("session/title",)):
        title = str(event.data["title"])
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower())[:_SLUG].strip("-") or "session"
    return f"{slug}-{str(agent.session.id)[:8]}"
