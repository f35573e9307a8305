"""A session through the client of the Python SDK (PyPI agent-client-protocol), an implementation of its own."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection

from tests.e2e.stage import Stage, script
from tests.support import launch, schema


class Person:
    """Keeps the updates, as the SDK's models give them back. It has what these tests need of the SDK's Client."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.begun = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.begun.set()

    def text(self, kind: str) -> str:
        return "".join(u.content.text for u in self.updates if u.session_update == kind)


def spawn(stage: Stage, person: Any) -> AbstractAsyncContextManager[tuple[ClientSideConnection, Any]]:
    return spawn_agent_process(person, *launch.COMMAND, env=stage.environment(), cwd=stage.root)


async def test_a_session_through_the_python_client(stage: Stage) -> None:
    person = Person()
    async with spawn(stage, person) as (connection, process):
        hello = await connection.initialize(protocol_version=1)
        assert (hello.protocol_version, hello.agent_info and hello.agent_info.name) == (1, "acp-server")
        session = await connection.new_session(cwd=str(stage.project), mcp_servers=[])
        answer = await connection.prompt(
            session_id=session.session_id, prompt=[text_block(script("think Hm.", "chunks 3", "say Hello there."))]
        )
        assert answer.stop_reason == "end_turn"
        assert (person.text("agent_thought_chunk"), person.text("agent_message_chunk")) == ("Hm.", "Hello there.")
    assert process.returncode == 0
    frames = [
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": session.session_id,
                "update": update.model_dump(mode="json", by_alias=True, exclude_none=True),
            },
        }
        for update in person.updates
    ]
    assert [why for frame in frames for why in schema.stable().frame(frame)] == []


class Deciding(Person):
    """A person who says yes to the first question and no to every other."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **kwargs: Any) -> Any:
        self.asked.append(tool_call)
        kind = "allow_once" if len(self.asked) == 1 else "reject_once"
        chosen = next(option.option_id for option in options if option.kind == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def diffs(self) -> list[tuple[str, str]]:
        ended = [u for u in self.updates if getattr(u, "status", None) == "completed"]
        items = [item for update in ended for item in update.content or [] if item.type == "diff"]
        return [(item.old_text, item.new_text) for item in items]


async def test_a_story_with_questions_diffs_a_cancel_and_a_reload(stage: Stage) -> None:
    notes = stage.project / "notes.txt"
    notes.write_text("old\n")
    edit = 'call edit {{"path": "notes.txt", "old_string": "{}", "new_string": "{}"}}'
    person, later = Deciding(), Person()
    async with spawn(stage, person) as (connection, _):
        await connection.initialize(protocol_version=1)
        session = (await connection.new_session(cwd=str(stage.project), mcp_servers=[])).session_id

        async def ask(*lines: str) -> str:
            return (await connection.prompt(session_id=session, prompt=[text_block(script(*lines))])).stop_reason

        assert await ask('call read {"path": "notes.txt"}', "step", edit.format("old", "new"), "step", "say Ok.") == (
            "end_turn"
        )
        assert await ask(edit.format("new", "bad"), "step", "say Left.") == "end_turn"
        assert (notes.read_text(), person.diffs(), len(person.asked)) == ("new\n", [("old\n", "new\n")], 2)
        person.begun.clear()
        hanging = asyncio.create_task(ask("say Begun.", "hang"))
        await asyncio.wait_for(person.begun.wait(), 30)
        await connection.cancel(session_id=session)
        assert await asyncio.wait_for(hanging, 30) == "cancelled"
        live = person.text("agent_message_chunk")
    async with spawn(stage, later) as (connection, _):
        await connection.initialize(protocol_version=1)
        await connection.load_session(cwd=str(stage.project), session_id=session, mcp_servers=[])
    assert later.text("agent_message_chunk") == live == "Ok.Left.Begun."


async def test_cancel_through_the_python_client(stage: Stage) -> None:
    person = Person()
    async with spawn(stage, person) as (connection, _):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=str(stage.project), mcp_servers=[])
        hanging = asyncio.create_task(
            connection.prompt(session_id=session.session_id, prompt=[text_block(script("say Begun.", "hang"))])
        )
        await asyncio.wait_for(person.begun.wait(), 10)
        await connection.cancel(session_id=session.session_id)
        assert (await asyncio.wait_for(hanging, 10)).stop_reason == "cancelled"


async def test_a_session_is_loaded_by_another_process_through_the_python_client(stage: Stage) -> None:
    async with spawn(stage, Person()) as (connection, _):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=str(stage.project), mcp_servers=[])
        await connection.prompt(session_id=session.session_id, prompt=[text_block(script("say Remember me."))])
    later = Person()
    async with spawn(stage, later) as (connection, _):
        await connection.initialize(protocol_version=1)
        listed = await connection.list_sessions()
        assert [one.session_id for one in listed.sessions] == [session.session_id]
        await connection.load_session(cwd=str(stage.project), session_id=session.session_id, mcp_servers=[])
    assert (later.text("user_message_chunk"), later.text("agent_message_chunk")) == (
        script("say Remember me."),
        "Remember me.",
    )


async def test_an_unknown_session_is_an_error_with_its_id(stage: Stage) -> None:
    async with spawn(stage, Person()) as (connection, _):
        await connection.initialize(protocol_version=1)
        with pytest.raises(RequestError) as refused:
            await connection.prompt(session_id="nobody", prompt=[text_block("hi")])
    data = {"sessionId": "nobody", "details": "Session not found: nobody"}
    assert (refused.value.code, refused.value.data) == (-32002, data)
