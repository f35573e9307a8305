from __future__ import annotations

from typing import Any

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.sandbox.confine import Backend
from acp_server.sandbox.output import Output
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.process import CommandOutcome
from acp_server.tools.arguments import read_arguments
from acp_server.tools.bash import LONGEST_SECONDS, BashArguments, BashTool, describe
from acp_server.tools.jobs import SessionJobs
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError
from tests.support.file_rig import Context

DONE = CommandOutcome(0, None, Output("out\n", "", 4, 0), 0.1, "workspace-write", "bubblewrap")


def no_box() -> Backend:
    raise ServerError("SANDBOX_FAILED", "There is no box.")


def no_jobs(_context: ToolContext) -> SessionJobs:
    raise AssertionError


TOOL = BashTool(no_box, no_jobs)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "out\n[exit code 0]"),
        ({"exit_code": 3}, "out\n[exit code 3]"),
        ({"exit_code": None, "signal": 11}, "out\n[ended by signal 11]"),
        ({"output": Output("", "", 0, 0)}, "(no output)\n[exit code 0]"),
        ({"output": Output(" \n\n", "", 3, 0)}, "(no output)\n[exit code 0]"),
        ({"output": Output("  a\n\n\n", "", 6, 0)}, "  a\n[exit code 0]"),
        ({"output": Output("a", "z\n", 12, 9)}, "a\n[9 bytes of output left out here]\nz\n[exit code 0]"),
        ({"timed_out": True}, "out\n[stopped after 7 s]\n[exit code 0]"),
        ({"exit_code": None, "signal": 9, "timed_out": True}, "out\n[stopped after 7 s]\n[ended by signal 9]"),
        (
            {"exit_code": None, "signal": 15, "cancelled": True},
            "out\n[stopped because the turn was cancelled]\n[ended by signal 15]",
        ),
        (
            {"exit_code": None, "signal": 9, "flooded": True},
            "out\n[stopped because it wrote too much]\n[ended by signal 9]",
        ),
        (
            {"exit_code": 1, "denied": ("[denied: a]", "[denied: b]"), "changed": (".git/config",)},
            "out\n[exit code 1]\n[denied: a]\n[denied: b]\n[put back: .git/config]",
        ),
    ],
)
def test_the_end_of_a_command_is_told_as_it_was(more: dict[str, Any], text: str) -> None:
    assert describe(replace(DONE, **more), 7) == text


def test_the_effect_is_the_exact_command_and_the_card_its_purpose() -> None:
    arguments = BashArguments(command="make  'all'\n", description="Build everything")
    assert TOOL.effect(arguments, "/p") == Effect("execute", command="make  'all'\n")
    assert TOOL.card(arguments, "/p") == Card("Build everything", "execute")
    assert TOOL.card(BashArguments(command="make"), "/p") == Card("make", "execute")
    behind = BashArguments(command="make", background=True)
    assert TOOL.card(behind, "/p") == Card("In the background: make", "execute")
    assert TOOL.effect(behind, "/p") == Effect("execute", command="make", background=True)
    assert TOOL.parallel(arguments) is False


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"command": ""}',
        '{"command": "ls", "cwd": "/"}',
        '{"command": "ls", "timeout_seconds": 0}',
        f'{{"command": "ls", "timeout_seconds": {LONGEST_SECONDS + 1}}}',
    ],
)
def test_arguments_out_of_bounds_are_refused(arguments: str) -> None:
    with pytest.raises(ToolError) as refused:
        read_arguments(TOOL, arguments)
    assert refused.value.code == "INVALID_ARGS"


async def test_a_command_without_its_box_does_not_run() -> None:
    context = Context("/", Policy("workspace-write", "/"))
    with pytest.raises(ToolError) as refused:
        await TOOL.run(BashArguments(command="true"), context)
    assert (refused.value.code, refused.value.message) == ("SANDBOX_FAILED", "There is no box.")
