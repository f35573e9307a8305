"""The kind that a card has when nothing but the tool's name is known is the kind that the tool gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acp_server.acp.tool_cards import KINDS
from acp_server.app.machine import Machine
from acp_server.app.parts.web import web_tools
from acp_server.app.tool_states import ToolStates, standard_tools
from acp_server.lsp.tools import lsp_tools
from acp_server.tools.tool import AnyTool
from tests.support.generated import no_servers

SAMPLES: dict[str, dict[str, Any]] = {
    "read": {"path": "a"},
    "list": {"path": "a"},
    "glob": {"pattern": "a"},
    "grep": {"pattern": "a"},
    "write": {"path": "a", "content": "b"},
    "edit": {"path": "a", "old_string": "b", "new_string": "c"},
    "multi_edit": {"path": "a", "edits": [{"old_string": "b", "new_string": "c"}]},
    "bash": {"command": "a"},
    "todo": {"todos": []},
    "job_list": {},
    "job_output": {"job": "job-1"},
    "job_stop": {"job": "job-1"},
    "diagnostics": {"path": "a"},
    "definition": {"path": "a", "name": "b"},
    "references": {"path": "a", "name": "b"},
    "hover": {"path": "a", "name": "b"},
    "symbols": {"path": "a"},
    "fetch": {"url": "https://example.invalid/"},
    "web_search": {"query": "a"},
}


@pytest.mark.parametrize("in_editor", [False, True])
def test_the_kinds_are_those_of_the_tools(in_editor: bool) -> None:
    def kinds() -> Iterator[tuple[str, str]]:
        tool: AnyTool
        standard = standard_tools(ToolStates(Machine({})), in_editor=in_editor)
        for tool in (*standard, *lsp_tools(no_servers), *web_tools({}, None)):
            yield tool.name, tool.card(tool.arguments.model_validate(SAMPLES[tool.name]), "/p").kind

    assert dict(kinds()) == dict(KINDS)
