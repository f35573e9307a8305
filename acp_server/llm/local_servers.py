"""Model servers on this machine, found by asking at their usual ports (docs/llm.md, clauses L-1 to L-3).

Owns the ports, the one question, and what an answer says. Asked only when a person wants to know; never at start.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from acp_server.base.values import value

HOST: Final = "127.0.0.1"
SECONDS: Final = 1.0
LARGEST: Final = 4 * 1024 * 1024
USUAL: Final = (("ollama", 11434), ("lm-studio", 1234), ("llama.cpp", 8080), ("vllm", 8000))
"""Kind of server and the port on which it listens unless it is told otherwise."""
_OWNERS: Final = {"vllm": "vllm", "llamacpp": "llama.cpp", "organization_owner": "lm-studio", "library": "ollama"}
"""What servers call the owner of their models; it tells more than the port."""


@value
class LocalModel:
    """A model that a local server has; `context_window` in tokens where the server tells it."""

    id: str
    context_window: int | None = None


@value
class LocalServer:
    """A server that speaks Chat Completions; `kind` is the name of its dialect."""

    kind: str
    base_url: str
    models: tuple[LocalModel, ...]


def find_local_servers(ports: Sequence[tuple[str, int]] = USUAL, seconds: float = SECONDS) -> tuple[LocalServer, ...]:
    """Return the servers that answer; each port is asked once, all of them at the same time."""
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as asking:
        found = asking.map(lambda place: ask(place[0], place[1], seconds), ports)
        return tuple(server for server in found if server is not None)


def ask(kind: str, port: int, seconds: float = SECONDS) -> LocalServer | None:
    """Return the server at that port of this machine, or None when none answers as one."""
    try:
        with closing(HTTPConnection(HOST, port, timeout=seconds)) as connection:
            connection.request("GET", "/v1/models", headers={"accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read(LARGEST) if answer.status == 200 else b""
        return server_of(kind, port, json.loads(body))
    except (OSError, HTTPException, ValueError, RecursionError):
        return None


def server_of(kind: str, port: int, document: Any) -> LocalServer | None:
    """Return what an answer to the question for models says, or None when it is no such answer."""
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return None
    known = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]]
    owners = [_OWNERS[entry["owned_by"]] for entry in known if entry.get("owned_by") in _OWNERS]
    models = tuple(LocalModel(entry["id"], _window(entry)) for entry in known)
    return LocalServer(owners[0] if owners else kind, f"http://{HOST}:{port}/v1", models)


def _window(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    told = [entry.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    return next((number for number in told if type(number) is int and number > 0), None)
