"""Stored sessions from outside: opening them again, what a replay shows, where their files are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.stage import Stage
from tests.support.client import Client
from tests.support.trace import CHUNK_KINDS, Obj, Update

LOG = "session.jsonl.zstd"
METADATA = frozenset({"available_commands_update", "config_option_update", "current_mode_update"})


def opening(session: str, cwd: Path | str, servers: Sequence[Obj] = ()) -> Obj:
    """Return the params of session/load and session/resume."""
    return {"sessionId": session, "cwd": str(cwd), "mcpServers": list(servers)}


def is_open(answer: Mapping[str, Any]) -> bool:
    """Return whether that is the answer of a session/load or session/resume that succeeded."""
    result = answer.get("result")
    return isinstance(result, dict) and set(result) <= {"configOptions", "modes"}


def load(client: Client, session: str, cwd: Path) -> list[Update]:
    """Load the session and return what was replayed before the answer."""
    ident = client.request("session/load", opening(session, cwd))
    answer = client.answer(ident)
    assert is_open(answer), answer
    return replayed(client, ident)


def replayed(client: Client, ident: int) -> list[Update]:
    """Return the updates between that session/load and its answer."""
    span = client.trace.load_span(ident)
    assert span is not None
    return client.trace.updates(*span)


def resume(client: Client, session: str, cwd: Path) -> None:
    assert is_open(client.answer(client.request("session/resume", opening(session, cwd))))


def restarted(stage: Stage, model: str | None = "scripted/demo", more: Mapping[str, str] | None = None) -> Client:
    """End the newest client's process as an editor does, start another, shake hands."""
    assert stage.clients[-1].agent.end() is None
    client = stage.client(model, more)
    client.initialize()
    return client


def merged(updates: Iterable[Update], *, users: bool = False) -> list[object]:
    """Return what an editor shows: chunks of one message joined, everything else as it came.

    What the person typed is left out unless `users`; commands and the server's own notices always are.
    """
    shown: list[object] = []
    for update in updates:
        fields, kind = update.fields, str(update.kind)
        if kind in METADATA or str(fields.get("messageId", "")).startswith("notices"):
            continue
        if kind not in CHUNK_KINDS:
            shown.append(fields)
        elif kind != "user_message_chunk" or users:
            last = shown[-1] if shown else None
            if isinstance(last, tuple) and last[:2] == (kind, fields["messageId"]):
                shown[-1] = (*last[:2], last[2] + update.text)
            else:
                shown.append((kind, fields["messageId"], update.text))
    return shown


def said(updates: Iterable[Update], kind: str = "agent_message_chunk") -> str:
    return "".join(update.text for update in updates if update.kind == kind)


def calls(updates: Iterable[Update]) -> dict[str, str]:
    """Return the last status of each tool call."""
    return {u.fields["toolCallId"]: u.fields["status"] for u in updates if str(u.kind).startswith("tool_call")}


def live(client: Client, session: str) -> list[Update]:
    """Return every update of the session so far."""
    return client.trace.updates(0, len(client.trace.frames), session)


def listed(client: Client, params: Obj | None = None) -> list[Obj]:
    """Walk all pages and return the sessions."""
    found: list[Obj] = []
    asked = dict(params or {})
    while True:
        page = client.result("session/list", asked)
        found += page["sessions"]
        if "nextCursor" not in page:
            return found
        asked["cursor"] = page["nextCursor"]


def folder(stage: Stage, session: str) -> Path:
    """Return the directory of a stored session."""
    (found,) = (stage.state / "sessions").glob(f"--*/{session}")
    return found


def log_of(stage: Stage, session: str) -> Path:
    return folder(stage, session) / LOG


def pipelined(client: Client, *calls: tuple[str, Obj]) -> list[str]:
    """Send requests (and, for methods of the client's notifications, notifications) in one write; return the ids."""
    lines, idents = [], []
    for number, (method, params) in enumerate(calls):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if method != "session/cancel":
            idents.append(f"{method}-{len(client.trace.frames)}-{number}")
            message["id"] = idents[-1]
        lines.append(json.dumps(message).encode())
    for line in lines:
        client.trace.add(client.agent.proc, "sent", line)
    assert client.agent.write(b"\n".join(lines) + b"\n") is None
    return idents


def prompting(session: str, text: str) -> tuple[str, Obj]:
    """Return the call of a prompt of one text."""
    return "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
