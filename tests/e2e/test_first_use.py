"""What lies beyond files and commands is loaded by its first use, and not on the way to a first answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.stage import Stage, script
from tests.e2e.test_start import imports
from tests.e2e.test_subagents import task
from tests.support import launch

BEYOND = frozenset(
    {
        "pygls",
        "lsprotocol",
        "cattrs",
        "mcp",
        "mcp_types",
        "markdownify",
        "bs4",
        "acp_server.app.delegation",
        "acp_server.app.hook_points",
        "acp_server.app.lsp_sessions",
        "acp_server.app.skill_book",
        "acp_server.lsp.client",
        "acp_server.lsp.session",
        "acp_server.tools.ask",
        "acp_server.tools.fetch",
        "acp_server.tools.task",
        "acp_server.tools.mcp.connection",
        "acp_server.tools.mcp.roster",
        "acp_server.tools.web_get",
        "acp_server.tools.web_search",
    }
)


def loaded(stage: Stage, *prompts: str) -> set[str]:
    """Play the prompts in one session of a server that finds language servers in PATH; return what it has imported."""
    beside = str(Path(sys.executable).parent)
    path = {"PATH": os.pathsep.join((beside, os.environ.get("PATH", "")))}
    report = stage.root / "report"
    command = [sys.executable, "-X", "importtime", *launch.COMMAND[1:]]
    with report.open("wb") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=stage.environment(more=path),
            cwd=stage.root,
        )
        with process:
            ask(process, 1, "initialize", {"protocolVersion": 1})
            opened = ask(process, 2, "session/new", {"cwd": str(stage.project), "mcpServers": []})
            for number, text in enumerate(prompts, 3):
                prompt = [{"type": "text", "text": text}]
                done = ask(process, number, "session/prompt", {"sessionId": opened["sessionId"], "prompt": prompt})
                assert done == {"stopReason": "end_turn"}
            process.communicate()
    return imports(report.read_bytes())


def ask(process: subprocess.Popen[bytes], ident: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    line = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
    process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()
    for answer in process.stdout:
        told: dict[str, Any] = json.loads(answer)
        if told.get("id") == ident and "method" not in told:
            result: dict[str, Any] = told["result"]
            return {key: each for key, each in result.items() if key in ("sessionId", "stopReason")} or result
    raise AssertionError(f"{method} is not answered")


def test_nothing_beyond_files_and_commands_is_loaded_before_its_first_use(stage: Stage) -> None:
    assert loaded(stage, script("say Hello."), script("say Again.")) & BEYOND == set()


def test_a_first_use_loads_what_it_needs(stage: Stage) -> None:
    used = loaded(stage, script(task("Help", "say hello"), "step", "say ok")) & BEYOND
    assert used == {"acp_server.app.delegation", "acp_server.tools.task"}
