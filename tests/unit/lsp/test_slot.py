"""One server over real pipes, whatever it does: what is found comes back, what fails costs its time and no more."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.lsp import lookups, slot
from acp_server.lsp.positions import Place
from acp_server.lsp.problems import MOST_KEPT, Problem
from acp_server.lsp.running import RunningServer
from acp_server.lsp.servers import LanguageServer
from acp_server.lsp.slot import Slot
from acp_server.sandbox.confine import ConfinedCommand

FAKE = Path(__file__).parents[2] / "support" / "fake_language_server.py"
LONG = 30.0
"""Seconds for what comes at once; nobody waits for them."""
SHORT = 0.2
"""Seconds for what never comes."""
TEXT = "fine = 1\nwrong = 2\n"
WRONG = Problem(2, 1, "error", "0 x", "fake")


def slot_of(folder: Path, **behaviour: object) -> Slot:
    server = LanguageServer("fake", ("fake",), ((".py", "python"),), settings={"a": {"b": {"c": 1}}})
    argv = (sys.executable, "-I", str(FAKE), json.dumps(behaviour))

    async def box(_server: LanguageServer) -> ConfinedCommand:
        return ConfinedCommand(argv, str(folder), {"PATH": "/usr/bin:/bin"}, "full-access", "none")

    return Slot(server, str(folder), box)


Look = Callable[[RunningServer, float], Awaitable[tuple[Problem, ...]]]


def looking(folder: Path, text: str = TEXT, name: str = "a.py") -> Look:
    async def look(running: RunningServer, seconds: float) -> tuple[Problem, ...]:
        return await running.problems(str(folder / name), text, seconds, saved=True)

    return look


async def refusal(action: Awaitable[object]) -> tuple[str, str]:
    with pytest.raises(ServerError) as caught:
        await action
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("told", [{}, {"push": "plain"}, {"push": "versions"}, {"push": "plain", "late": 0.5}])
async def test_diagnostics_are_those_of_the_text_that_was_sent_last(told: JsonObject, tmp_path: Path) -> None:
    server = slot_of(tmp_path, **told)
    found = [await server.use(looking(tmp_path, text), LONG) for text in (TEXT, "fine = 1\n", TEXT)]
    assert found == [(WRONG,), (), (WRONG,)]
    await server.close()


async def test_a_flood_of_diagnostics_is_cut_before_it_is_read(tmp_path: Path) -> None:
    server = slot_of(tmp_path, times=20_000, length=200)
    found = await server.use(looking(tmp_path), LONG)
    assert len(found) == MOST_KEPT
    await server.close()


async def test_a_message_that_is_too_long_ends_the_server(tmp_path: Path) -> None:
    server = slot_of(tmp_path, times=60_000, length=200)
    code, words = await refusal(server.use(looking(tmp_path), LONG))
    assert code == "LSP_GONE"
    assert words.startswith("it sent a message of ")
    await server.close()


ENDS = [
    ({"on_start": "crash"}, "it ended with code 3: out of luck"),
    ({"on_start": "garbage"}, "it writes what is no message"),
    ({"on_start": "long"}, "it sent a message of 999,999,999,999 bytes"),
    ({"on_pull": "crash"}, "it ended with code 3: out of luck"),
    ({"on_pull": "garbage"}, "it writes what is no message"),
]


@pytest.mark.parametrize(("told", "words"), ENDS)
async def test_one_that_dies_says_why_and_is_started_again_a_few_times(
    told: JsonObject, words: str, tmp_path: Path
) -> None:
    server = slot_of(tmp_path, **told)
    said = [await refusal(server.use(looking(tmp_path), LONG)) for _ in range(slot.MOST_STARTS + 2)]
    assert said == [("LSP_GONE", words)] * (slot.MOST_STARTS + 2)
    await server.close()


async def test_one_that_hangs_at_its_start_costs_the_time_of_a_wait(tmp_path: Path) -> None:
    server = slot_of(tmp_path, on_start="hang")
    assert await refusal(server.use(looking(tmp_path), SHORT)) == ("LSP_STARTING", "it has not started within 0.2 s")
    await server.close()


@pytest.mark.parametrize(
    ("told", "words"),
    [({"push": "plain", "on_text": "hang"}, "no diagnostics within"), ({"on_pull": "hang"}, "no answer within")],
)
async def test_one_that_is_silent_is_waited_for_less_and_then_ended(
    told: JsonObject, words: str, tmp_path: Path
) -> None:
    server = slot_of(tmp_path, **told)

    async def nothing(running: RunningServer, _seconds: float) -> None:
        return None

    await server.use(nothing, LONG)  # it has started
    texts = [f"wrong = {number}" for number in range(slot.MOST_SILENCES)]
    said = [await refusal(server.use(looking(tmp_path, text), SHORT)) for text in texts]
    assert [code for code, _ in said] == ["LSP_SILENT"] * slot.MOST_SILENCES
    assert all(sentence.startswith(words) for _, sentence in said)
    assert server.running is None
    await server.close()


async def test_an_answer_that_cannot_be_read_fails_its_request_at_once(tmp_path: Path) -> None:
    server = slot_of(tmp_path, hover={"contents": "x", "range": 3}, report={"kind": "full", "items": [{"range": 1}]})
    path = str(tmp_path / "a.py")
    asked = server.use(lookups.hover(path, TEXT, Place(0, 0)), LONG)
    assert await refusal(asked) == ("LSP_REFUSED", "its answer cannot be read")
    assert await refusal(server.use(looking(tmp_path), LONG)) == ("LSP_REFUSED", "its answer cannot be read")
    await server.close()


CELLS = {"notebookDocumentSync": {"notebookSelector": [{"cells": [{"language": "python"}]}]}}


@pytest.mark.parametrize(
    "hover", [{"contents": "words"}, {"contents": ["words"]}, {"contents": {"kind": "markdown", "value": "words"}}]
)
async def test_the_forms_of_answers(hover: JsonObject, tmp_path: Path) -> None:
    place = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}}
    link = {"targetUri": "file:///a%20b.py", "targetRange": place, "targetSelectionRange": place}
    server = slot_of(tmp_path, hover=hover, definition=[link], can=CELLS)
    path = str(tmp_path / "a.py")
    assert await server.use(lookups.hover(path, TEXT, Place(0, 0)), LONG) == "words"
    spots: Any = await server.use(lookups.definition(path, TEXT, Place(0, 0)), LONG)
    assert spots == (lookups.Spot("/a b.py", 1, 2),)
    await server.close()


async def test_closing_ends_what_starts_and_starts_nothing_again(tmp_path: Path) -> None:
    server = slot_of(tmp_path, on_start="hang")
    server.warm()
    await server.close()
    assert (await refusal(server.use(looking(tmp_path), LONG)))[0] == "LSP_GONE"
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
