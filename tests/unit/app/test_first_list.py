from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_server.app.first_list import serve_first_list
from acp_server.persistence.jsonl import JsonlPersistence
from tests.bench.store import short_turn, write_log

LIST = b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}\n'
OTHERS = [
    b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/session/list","mcpServers":[]}}\n',
    b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cwd":"/a"}}\n',
    b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cursor":"x"}}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"session/list","params":{}}\n',
    b'{"jsonrpc":"2.0","method":"session/list","params":{}}\n',
    b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":[]}\n',
    b'["session/list"]\n',
    b"session/list\n",
    LIST[:-1],
    b"",
]


class Place:
    """A home with a few sessions whose titles are known, and a client's pipes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {"ACP_SERVER_HOME": str(home / "state")}
        self.reading, self._to = os.pipe()
        self._from, self.writing = os.pipe()

    async def filled(self, sessions: int) -> None:
        for number in range(sessions):
            write_log(self.home, f"s-{number}", [short_turn(number)])
        store = JsonlPersistence(f"{self.environment['ACP_SERVER_HOME']}/sessions")
        while any(entry.events is None for entry in (await store.list()).entries):
            continue  # the list reads in the background what it could not tell
        await store.shutdown()

    def ask(self, sent: bytes, unread: bytes = b"") -> tuple[bytes, dict[str, Any] | None]:
        """Return what nobody has served, and what was answered."""
        os.write(self._to, sent)
        rest = serve_first_list(self.reading, self.writing, unread, self.environment)
        os.close(self.writing)
        answered = os.read(self._from, 65536)
        return rest, json.loads(answered) if answered else None


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def titles(answer: Mapping[str, Any] | None) -> set[str]:
    assert answer is not None
    assert answer["id"] == 7
    return {entry["title"] for entry in answer["result"]["sessions"]}


@pytest.mark.parametrize("unread", [b"", LIST[:20], LIST])
async def test_the_first_page_is_answered_from_the_catalogue(place: Place, unread: bytes) -> None:
    await place.filled(3)
    rest, answer = place.ask(LIST[len(unread) :] + b"more", unread)
    assert titles(answer) == {"Session 0", "Session 1", "Session 2"}
    assert rest == (b"more" if unread != LIST else b"")


@pytest.mark.parametrize("line", OTHERS)
async def test_any_other_request_is_handed_on_byte_for_byte(place: Place, line: bytes) -> None:
    await place.filled(1)
    assert place.ask(line) == (line, None)


async def test_a_configured_process_is_left_to_its_settings(place: Place) -> None:
    await place.filled(1)
    (place.home / "state" / "settings.toml").write_text("", "utf-8")
    assert place.ask(LIST) == (LIST, None)


async def test_a_session_that_was_never_read_is_left_to_the_store(place: Place) -> None:
    await place.filled(1)
    write_log(place.home, "fresh", [short_turn(9)])
    assert place.ask(LIST) == (LIST, None)


def test_without_a_catalogue_none_is_made(place: Place) -> None:
    write_log(place.home, "fresh", [short_turn(9)])
    before = sorted(place.home.rglob("*"))
    assert place.ask(LIST) == (LIST, None)
    assert sorted(place.home.rglob("*")) == before
