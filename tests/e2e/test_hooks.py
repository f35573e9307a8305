"""Hook commands over real pipes (docs/hooks.md)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import load, log_of
from tests.e2e.stage import Stage
from tests.e2e.test_skills import asked, put
from tests.e2e.test_tools import Play, bash, call, choosing, write
from tests.support.mock_llm import MockLlm

SETTINGS = """\
[[hooks.PreToolUse]]
matcher = "bash"
hooks = [{ command = "cat > call.json; echo not today >&2; exit 2" }]

[[hooks.PostToolUse]]
matcher = "Read"
hooks = [{ command = '''echo '{"hookSpecificOutput": {"additionalContext": "mind the gap"}}' ''' }]

[[hooks.UserPromptSubmit]]
hooks = [{ command = "if grep -q forbidden; then echo not that >&2; exit 2; fi; echo said at noon" }]

[[hooks.Stop]]
hooks = [{ command = "grep -q '\\"stop_hook_active\\": true' || { echo one more thing >&2; exit 2; }" }]
"""


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def test_hooks_take_part_in_a_turn_and_are_in_the_log(stage: Stage, mock: MockLlm) -> None:
    put(stage.state / "settings.toml", SETTINGS)
    put(stage.project / "a.txt", "text\n")
    play = Play(stage, mock)
    play.run(bash("ls"), call("read", path="a.txt"), {"text": "Done."}, {"text": "And that."})
    denied, read = play.results()
    assert "not today" in denied
    assert read.endswith("[A hook of the person's says: mind the gap]")
    assert "said at noon" in asked(play)
    assert "one more thing" in asked(play)
    told = json.loads((stage.project / "call.json").read_text("utf-8"))
    assert (told["tool_name"], told["tool_input"], told["cwd"]) == ("bash", {"command": "ls"}, str(stage.project))
    play.script({"text": "never"})
    _, turn = play.client.prompt(play.session, "forbidden")
    assert "not that" in play.client.said(turn)
    entries = scan_log(log_of(stage, play.session).read_bytes(), "zstd").entries
    events = [each for each in entries if isinstance(each, SessionEvent) and each.type.startswith("hook/")]
    assert [(event.type, event.data.get("event", event.data.get("outcome"))) for event in events] == [
        ("hook/invoked", "UserPromptSubmit"),
        ("hook/result", "passed"),
        ("hook/invoked", "PreToolUse"),
        ("hook/result", "blocked"),
        ("hook/invoked", "PostToolUse"),
        ("hook/result", "passed"),
        ("hook/invoked", "Stop"),
        ("hook/result", "blocked"),
        ("hook/invoked", "Stop"),
        ("hook/result", "passed"),
        ("hook/invoked", "UserPromptSubmit"),
        ("hook/result", "blocked"),
    ]


def test_a_workspaces_hooks_run_after_trust_alone(stage: Stage, mock: MockLlm) -> None:
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}
    put(stage.project / ".claude" / "settings.json", json.dumps({"hooks": hooks}))
    ran = Path(stage.project / "ran")
    play = Play(stage, mock)
    play.run({"text": "One."})
    assert not ran.exists()
    _, turn = play.client.prompt(play.session, "/trust")
    assert "- hook UserPromptSubmit: `touch ran`" in play.client.said(turn)
    digits = re.search(r"/trust ([0-9a-f]{12})", play.client.said(turn))
    assert digits is not None
    play.client.prompt(play.session, f"/trust {digits[1]}")
    play.run({"text": "Two."})
    assert ran.exists()


POINTS = """\
[[hooks.SessionStart]]
matcher = "startup"
hooks = [{ command = "cat >> heard; echo mind the house rules" }]

[[hooks.SessionStart]]
matcher = "resume"
hooks = [{ command = "echo welcome back" }]

[[hooks.SubagentStop]]
hooks = [{ command = "cat >> heard" }]

[[hooks.Stop]]
hooks = [{ command = "cat >> heard" }]

[[hooks.PreCompact]]
hooks = [{ command = "cat >> heard; exit 2" }]

[[hooks.Notification]]
hooks = [{ command = "cat >> heard" }]
"""


def heard(stage: Stage, *points: str) -> list[str]:
    """Wait until hooks have heard of so many points; return their names in order."""
    end, found = time.monotonic() + 30, list[str]()
    while time.monotonic() < end and set(points) - set(found):
        file = stage.project / "heard"
        found = re.findall(r'"hook_event_name": "(\w+)"', file.read_text("utf-8")) if file.exists() else []
        time.sleep(0.05)
    return found


def test_further_points_hear_of_sessions_subagents_questions_and_compactions(stage: Stage, mock: MockLlm) -> None:
    put(stage.state / "settings.toml", POINTS)
    play = Play(stage, mock)
    play.person(choosing("allow-once"))
    child = call("task", description="Help", prompt="Say hello.")
    play.run(child, {"text": "Hello."}, write("a.txt"), {"text": "Done."})
    assert "mind the house rules" in asked(play)
    names = heard(stage, "SessionStart", "SubagentStop", "Notification", "Stop")
    assert (names.count("SessionStart"), names.count("SubagentStop"), names.count("Stop")) == (1, 1, 1)
    play.script({"text": "A summary."})
    play.client.prompt(play.session, "/compact")
    assert "PreCompact" in heard(stage, "PreCompact")
    play.restart()
    play.client.initialize()
    load(play.client, play.session, stage.project)
    play.run({"text": "Again."})
    assert "welcome back" in asked(play)


def test_a_hook_changes_the_input_of_a_call_which_is_judged_as_it_runs(stage: Stage, mock: MockLlm) -> None:
    reply = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"path": "b.txt", "content": "x"}}}
    odd = {"hookSpecificOutput": {"updatedInput": {"way": "none"}}}
    put(stage.project / "reply.json", json.dumps(reply))
    put(stage.project / "odd.json", json.dumps(odd))
    put(
        stage.state / "settings.toml",
        '[[hooks.PreToolUse]]\nmatcher = "write"\n'
        'hooks = [{ command = "cat reply.json" }, { command = "cat > second" }]\n'
        '[[hooks.PreToolUse]]\nmatcher = "read"\nhooks = [{ command = "cat odd.json" }]\n',
    )
    play = Play(stage, mock)
    play.person(choosing("allow-once"))
    play.run(write("a.txt"), call("read", path="a.txt"), {"text": "Done."})
    written, refused = play.results()
    (question,) = play.client.questions
    assert question["params"]["toolCall"]["rawInput"]["paths"] == [str(stage.project / "b.txt")]
    assert ((stage.project / "b.txt").read_text(), (stage.project / "a.txt").exists()) == ("x", False)
    assert 'changed the arguments to: {"path": "b.txt", "content": "x"}]' in written
    assert refused.startswith("Error: ")
    assert "path" in refused
    assert json.loads((stage.project / "second").read_text("utf-8"))["tool_input"] == {"path": "b.txt", "content": "x"}
