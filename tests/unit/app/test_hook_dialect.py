"""What hook commands mean by their ends and outputs (docs/hooks.md, section S)."""

from __future__ import annotations

import json

import pytest

from acp_server.app.hook_dialect import MOST_SECONDS, Hook, Ran, Said, hooks_in, said_by

SPECIAL = {"permissionDecision": "ask", "permissionDecisionReason": "why", "additionalContext": "more"}


@pytest.mark.parametrize(
    ("event", "ran", "said"),
    [
        ("PreToolUse", Ran(0), Said()),
        ("PreToolUse", Ran(0, "plain"), Said()),
        ("UserPromptSubmit", Ran(0, " plain\n"), Said(context="plain")),
        ("PreToolUse", Ran(2, "x", "no\n"), Said("deny", "no")),
        ("PreToolUse", Ran(2), Said("deny", "a hook said no")),
        ("PreToolUse", Ran(1, '{"decision": "block"}'), Said(failed=True)),
        ("Stop", Ran(None), Said(failed=True)),
        ("Stop", Ran(0, '{"decision": "block", "reason": "go on"}'), Said("deny", "go on")),
        ("SessionStart", Ran(0, " rules\n"), Said(context="rules")),
        ("PreToolUse", Ran(0, '{"hookSpecificOutput": {"updatedInput": {"a": 1}}}'), Said(updated={"a": 1})),
        ("PreToolUse", Ran(0, '{"hookSpecificOutput": {"updatedInput": [1]}}'), Said()),
        (
            "PreToolUse",
            Ran(0, '{"hookSpecificOutput": {"permissionDecision": "deny", "updatedInput": {"a": 1}}}'),
            Said("deny", "a hook said no"),
        ),
        ("PreToolUse", Ran(0, '{"decision": "approve"}'), Said("allow")),
        ("PreToolUse", Ran(0, '{"continue": false, "stopReason": "enough"}'), Said("deny", "enough")),
        ("PreToolUse", Ran(0, json.dumps({"hookSpecificOutput": SPECIAL})), Said("ask", "why", "more")),
        ("PostToolUse", Ran(0, '{"systemMessage": "hello"}'), Said(told="hello")),
        ("PreToolUse", Ran(0, '{"decision": ["block"], "reason": 1}'), Said()),
        ("PreToolUse", Ran(0, "{broken"), Said()),
    ],
)
def test_an_end_means(event: str, ran: Ran, said: Said) -> None:
    assert said_by(event, ran) == said


def test_hooks_are_read_and_what_is_none_is_passed_over() -> None:
    table = {
        "PreToolUse": [
            {"matcher": "a|b", "hooks": [{"type": "command", "command": "x", "timeout": 5}, {"type": "prompt"}, 1]},
            {"hooks": [{"command": "y", "timeout": 10**9}, {"command": " "}]},
            "z",
        ],
        "Stop": "x",
        "Unknown": [{"hooks": [{"command": "n"}]}],
    }
    assert list(hooks_in(table)) == [Hook("PreToolUse", "x", "a|b", 5.0), Hook("PreToolUse", "y", "", MOST_SECONDS)]


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [
        ("bash", "bash", True),
        ("Bash", "bash", True),
        ("ba", "bash", False),
        ("", "x", True),
        ("*", "x", True),
        ("[", "x", True),
    ],
)
def test_a_matcher_covers_whole_names(matcher: str, tool: str, fits: bool) -> None:
    assert Hook("PreToolUse", "c", matcher).fits("PreToolUse", tool) is fits
    assert not Hook("PreToolUse", "c", matcher).fits("PostToolUse", tool)
