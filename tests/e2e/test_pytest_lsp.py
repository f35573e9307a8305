"""One session through pytest-lsp's fixtures, with a client of pygls that splits lines instead of reading headers.

It runs apart from the others, since the plugin is slow to load:
`python -m pytest -p pytest_asyncio.plugin -p pytest_lsp tests/e2e/test_pytest_lsp.py`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest_lsp
from pygls.client import JsonRPCClient
from pygls.protocol import JsonRPCProtocol, default_converter
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pytest_lsp import ClientServerConfig

from tests.e2e.stage import script
from tests.support import invariants, launch, schema
from tests.support.trace import Obj, Trace

LONGEST_LINE = 64 << 20


class LineProtocol(JsonRPCProtocol):
    """One message a line; params and results stay plain objects."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.trace = Trace()

    def structure_message(self, data: Obj) -> Any:
        if "method" in data and "id" in data:
            return JsonRPCRequestMessage(data["id"], data["method"], "2.0", data.get("params"))
        if "method" in data:
            return JsonRPCNotification(data["method"], "2.0", data.get("params"))
        if "error" in data:
            return super().structure_message(data)
        return JsonRPCResponseMessage(data["id"], "2.0", data.get("result"))

    def _send_data(self, data: Any) -> None:
        line = json.dumps(data, default=self._serialize_message).encode()
        self.trace.add(1, "sent", line)
        if self.writer is not None:
            self.writer.write(line + b"\n")


class AcpClient(JsonRPCClient):
    """What pytest-lsp starts and stops in the place of a language client."""

    def __init__(self) -> None:
        super().__init__(protocol_cls=LineProtocol, converter_factory=default_converter)
        self.feature("session/update")(lambda _: None)
        self.feature("session/request_permission")(partial(self._decide))
        self.asked: list[Obj] = []
        self.root = Path(tempfile.mkdtemp(prefix="pytest-lsp-"))
        self.project = self.root / "project"
        self.project.mkdir()

    def _decide(self, params: Obj) -> Obj:
        """Say yes to the first question, and no to every other."""
        self.asked.append(params)
        kind = "allow_once" if len(self.asked) == 1 else "reject_once"
        chosen = next(option["optionId"] for option in params["options"] if option["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    @property
    def trace(self) -> Trace:
        protocol: Any = self.protocol
        trace: Trace = protocol.trace
        return trace

    async def start_io(self, cmd: str, *args: str, **kwargs: Any) -> None:
        process = await asyncio.create_subprocess_exec(
            cmd, *args, stdin=-1, stdout=-1, limit=LONGEST_LINE, env=launch.environment(self.root), cwd=self.root
        )
        assert process.stdin is not None
        self._server = process
        self.protocol.set_writer(process.stdin, include_headers=False)
        self._async_tasks.append(asyncio.create_task(self._listen(process)))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        while process.stdout and (line := await process.stdout.readline()):
            self.trace.add(1, "got", line.rstrip(b"\n"))
            self.protocol.handle_message(self.protocol.structure_message(json.loads(line)))

    async def stop(self) -> None:
        process = self._server
        if process and process.stdin:
            process.stdin.close()
            assert await asyncio.wait_for(process.wait(), 5) == 0
        await super().stop()  # type: ignore[no-untyped-call]  # pygls does not annotate it
        shutil.rmtree(self.root)

    async def ask(self, method: str, params: Obj) -> Any:
        return await asyncio.wait_for(self.protocol.send_request_async(method, params), 20)


@pytest_lsp.fixture(  # type: ignore[untyped-decorator]  # pytest-lsp does not annotate it
    config=ClientServerConfig(server_command=list(launch.COMMAND), client_factory=AcpClient)
)
async def acp(acp_client: AcpClient) -> AsyncIterator[None]:
    hello = await acp_client.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert hello["protocolVersion"] == 1
    yield
    assert invariants.broken(acp_client.trace) == []
    assert schema.stable().agent_trace(acp_client.trace) == []


async def test_a_session(acp: AcpClient) -> None:
    session = (await acp.ask("session/new", {"cwd": str(acp.project), "mcpServers": []}))["sessionId"]

    def prompt(*lines: str) -> Obj:
        return {"sessionId": session, "prompt": [{"type": "text", "text": script(*lines)}]}

    assert await acp.ask("session/prompt", prompt("think Hm.", "say Hello there.")) == {"stopReason": "end_turn"}
    notes = acp.project / "notes.txt"
    notes.write_text("old\n")
    edit = 'call edit {{"path": "notes.txt", "old_string": "{}", "new_string": "{}"}}'
    read = 'call read {"path": "notes.txt"}'
    story = prompt(read, "step", edit.format("old", "new"), "step", "say Edited.")
    assert await acp.ask("session/prompt", story) == {"stopReason": "end_turn"}
    refused = prompt(edit.format("new", "bad"), "step", "say Left.")
    assert await acp.ask("session/prompt", refused) == {"stopReason": "end_turn"}
    assert (notes.read_text(), len(acp.asked), diffs(acp.trace)) == ("new\n", 2, [("old\n", "new\n")])
    hanging = asyncio.create_task(acp.ask("session/prompt", prompt("say Begun.", "hang")))
    await asyncio.to_thread(acp.trace.wait, lambda: "Begun." in said(acp.trace), 30)
    acp.protocol.notify("session/cancel", {"sessionId": session})
    assert await hanging == {"stopReason": "cancelled"}
    assert said(acp.trace) == "Hello there.Edited.Left.Begun."
    assert await acp.ask("session/close", {"sessionId": session}) == {}
    seen = len(acp.trace.frames)
    await acp.ask("session/load", {"sessionId": session, "cwd": str(acp.project), "mcpServers": []})
    assert said(acp.trace, seen) == "Hello there.Edited.Left.Begun."


def diffs(trace: Trace) -> list[tuple[str, str]]:
    """Return what calls that have ended well have changed."""
    updates = [update.fields for frame in trace.frames if (update := frame.update()) is not None]
    ended = [fields for fields in updates if fields.get("status") == "completed"]
    items = [item for fields in ended for item in fields.get("content") or [] if item["type"] == "diff"]
    return [(item["oldText"], item["newText"]) for item in items]


def said(trace: Trace, since: int = 0) -> str:
    updates = [update for frame in trace.frames[since:] if (update := frame.update()) is not None]
    return "".join(update.text for update in updates if update.kind == "agent_message_chunk")
