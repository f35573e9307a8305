"""Where the whole text of a result stays readable that was cut to make room."""

from __future__ import annotations

import random
import re

import pytest

from acp_server.base.errors import ServerError
from acp_server.compaction.policy import Policies, Policy
from acp_server.compaction.prune import CUT
from acp_server.messages.blocks import Message, ToolResultBlock, text_of
from acp_server.session.events import SessionEvent
from acp_server.session.history import derive_message
from tests.support.windows import READING, Bench, FileTools, WindowModel

NAMED = re.compile(r"The whole text is in (\S+), which you can read\.")
LIMITS = Policies(Policy(retain_ratio=0.5))


def bench(tool: str, *, longest: int = 12_000, window: int = 32_000) -> Bench:
    rng = random.Random(11)
    return Bench(WindowModel(window, rng, max_output=1000, tool=tool), FileTools(rng, longest=longest), LIMITS)


def text(message: Message | None) -> str:
    block = message.content[0] if message is not None else None
    return text_of(block.content) if isinstance(block, ToolResultBlock) else ""


def original(played: Bench, event: SessionEvent) -> str:
    """Return what the result was before anything was cut."""
    while event.source_event_seqs and played.session.events[event.source_event_seqs[0]].type == "tool/result":
        event = played.session.events[event.source_event_seqs[0]]
    return text(derive_message(event))


def cut(played: Bench) -> list[tuple[str, str]]:
    """Return what is left of each result that was cut, and what it was."""
    events = [event for event in played.events("tool/result") if CUT in text(derive_message(event))]
    return [(text(derive_message(event)), original(played, event)) for event in events]


async def played(tool: str, turns: int = 30) -> Bench:
    made = bench(tool)
    for turn in range(turns):
        assert (await made.say(f"Task {turn}, please.")).kind == "completed"
    return made


async def test_a_command_s_result_names_the_file_that_has_all_of_it() -> None:
    made = await played("run_command")
    cuts = cut(made)
    assert cuts != []
    for left, whole in cuts:
        [path] = NAMED.findall(left)
        assert made.kept_text(path) == whole


async def test_what_was_read_from_a_file_is_read_again_and_kept_nowhere() -> None:
    made = await played(READING)
    cuts = cut(made)
    assert cuts != []
    assert made.kept == []
    assert all(f"Call {READING} again to see them: " in left or "read again later" in left for left, _ in cuts)


async def test_a_file_that_has_it_already_is_named_and_no_other_is_made() -> None:
    made = bench("run_command")
    made.tools.meta = {"whole": "/results/7"}
    for turn in range(30):
        await made.say(f"Task {turn}, please.")
    cuts = cut(made)
    assert cuts != []
    assert made.kept == []
    assert {path for left, _ in cuts for path in NAMED.findall(left)} == {"/results/7"}


async def test_the_last_resort_names_the_file_too() -> None:
    made = bench("run_command", longest=4000)
    made.tools.huge = 600_000
    await made.say("Task, please.")
    [(left, whole)] = cut(made)[-1:]
    [path] = NAMED.findall(left)
    assert made.kept_text(path) == whole
    assert len(whole) > 600_000


@pytest.mark.parametrize("error", [None, ServerError("SESSION_NOT_FOUND", "There is no such session.")])
async def test_where_nothing_can_be_kept_the_call_is_named(error: ServerError | None) -> None:
    made = bench("run_command")

    async def refuses(_text: str) -> str | None:
        if error is not None:
            raise error
        return None

    made.kit.keep_text = refuses
    for turn in range(30):
        await made.say(f"Task {turn}, please.")
    assert all("Call run_command again to see them: " in left for left, _ in cut(made))
    assert cut(made) != []
    assert (error in made.reported) == (error is not None)
    assert {end.kind for end in made.ends} == {"completed"}
