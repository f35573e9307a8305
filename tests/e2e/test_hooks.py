"""Hook commands over real pipes (docs/hooks.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import log_of
from tests.e2e.stage import Stage
from tests.e2e.test_skills import asked, put
from tests.e2e.test_tools import Play, bash, call
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
