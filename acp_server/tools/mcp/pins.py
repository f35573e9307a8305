"""What a server's tools were when they were first used: a changed one waits for the person (docs/mcp.md, R-1 to R-5).

Owns the files in which that outlives the process, one a server, told apart by how the server is reached. A file that
cannot be read or written costs the memory of it, never a session.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from acp_server.base.values import value
from acp_server.tools.mcp.offers import Offer
from acp_server.tools.mcp.servers import McpServer


@value
class Sorted:
    """Tools that are as they were, or new, by name; and those that are different now."""

    trusted: Mapping[str, Offer]
    changed: Mapping[str, Offer]


def sort_offers(offers: Sequence[Offer], before: Mapping[str, Offer], pinned: Mapping[str, str]) -> Sorted:
    """Return what becomes of a server's tools, given those of this session and the digests of earlier ones.

    A changed tool that this session has keeps its old words, so that no model reads the new ones.
    """
    trusted: dict[str, Offer] = {}
    changed: dict[str, Offer] = {}
    for offer in offers:
        old = before.get(offer.name)
        digest = pinned.get(offer.name) if old is None else old.digest
        if digest in (None, offer.digest):
            trusted[offer.name] = offer
            continue
        changed[offer.name] = offer
        if old is not None:
            trusted[offer.name] = old
    return Sorted(trusted, changed)


class Pins:
    """The digests of one server's tools. `folder` is in the server's own state; None keeps nothing."""

    def __init__(self, server: McpServer, folder: str | None) -> None:
        way = [server.name, server.command, list(server.args), server.url]
        word = hashlib.sha256(json.dumps(way).encode("utf-8", "replace")).hexdigest()[:32]
        self._path = None if folder is None else Path(folder) / f"{word}.json"

    def read(self) -> Mapping[str, str]:
        """Return the digests by the tools' own names."""
        if self._path is None:
            return {}
        try:
            data = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(name): str(text) for name, text in data.items()} if isinstance(data, dict) else {}

    def keep(self, digests: Mapping[str, str]) -> None:
        """Keep these digests beside those of tools that are not among them."""
        before = self.read()
        after = {**before, **digests}
        if self._path is None or after == before:
            return
        fresh = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}")
        with suppress(OSError):
            self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(after, file, indent=1, sort_keys=True)
            fresh.replace(self._path)
