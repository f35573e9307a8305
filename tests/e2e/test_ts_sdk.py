"""A session through the reference SDK's client (npm @agentclientprotocol/sdk 2.4.0), which parses all that we send."""

from __future__ import annotations

import json
import subprocess

from tests.e2e.stage import Stage
from tests.support import launch, node, schema
from tests.support.trace import Obj


def run(stage: Stage) -> Obj:
    """Play tests/node/session.mjs against the server; return what it told."""
    node.modules()
    command = [str(node.program("node")), str(node.FOLDER / "session.mjs"), str(stage.project), *launch.COMMAND]
    done = subprocess.run(
        command, env=stage.environment(), cwd=stage.root, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    told: Obj = json.loads(done.stdout)
    return told


def text(updates: list[Obj], kind: str) -> str:
    return "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == kind)


def diffs(updates: list[Obj]) -> list[Obj]:
    """Return the diffs of the calls that have ended well."""
    ended = [u for u in updates if u.get("status") == "completed"]
    return [item for update in ended for item in update.get("content") or [] if item["type"] == "diff"]


def test_a_session_through_the_reference_client(stage: Stage) -> None:
    (stage.project / "notes.txt").write_text("old\n")
    told = run(stage)
    assert told["initialized"]["protocolVersion"] == 1
    assert told["initialized"]["agentInfo"]["name"] == "acp-server"
    assert told["prompted"] == {"stopReason": "end_turn"}
    assert told["cancelled"] == {"stopReason": "cancelled"}
    assert told["again"] == {"stopReason": "end_turn"}
    data = {"sessionId": "nobody", "details": "Session not found: nobody"}
    assert told["refused"] == {"code": -32002, "data": data}
    assert told["exitCode"] == 0
    assert (told["edited"], told["refusedEdit"]) == ({"stopReason": "end_turn"}, {"stopReason": "end_turn"})
    assert (stage.project / "notes.txt").read_text() == "new\n"
    assert [(call["kind"], call["content"][0]["type"]) for call in told["questions"]] == [("edit", "diff")] * 2
    (diff,) = diffs(told["live"])
    assert (diff["oldText"], diff["newText"]) == ("old\n", "new\n")
    assert diffs(told["replayed"]) == [diff]
    said = "Hello from the script.Edited.Left.Begun.Again."
    assert text(told["live"], "agent_thought_chunk") == text(told["replayed"], "agent_thought_chunk") == "Hm."
    assert text(told["live"], "agent_message_chunk") == said
    assert text(told["replayed"], "agent_message_chunk") == said
    assert text(told["live"], "user_message_chunk") == ""
    assert text(told["replayed"], "user_message_chunk").count("@script") == 5
    assert (told["listed"], told["closed"], told["deleted"], told["left"]) == ([True], {}, {}, [])
    frames = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
        for update in [*told["live"], *told["replayed"]]
    ]
    assert [why for frame in frames for why in schema.stable().frame(frame)] == []
