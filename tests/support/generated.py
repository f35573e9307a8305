"""Files that are made from others: `python -m tests.support.generated` writes them, tests hold them to be fresh."""

from __future__ import annotations

import json
import pprint
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from acp_server.app.delegation import Delegation
from acp_server.app.layers import TEMPLATES, bundle_rows
from acp_server.app.machine import Machine
from acp_server.app.parts.web import web_tools
from acp_server.app.preset_file import PresetFile
from acp_server.app.row import Row
from acp_server.app.settings_schema import Settings
from acp_server.app.tool_states import ToolStates, standard_tools
from acp_server.lsp.descriptions import DESCRIPTIONS as LSP_DESCRIPTIONS
from acp_server.lsp.session import SessionServers
from acp_server.lsp.tools import lsp_tools
from acp_server.tools.ask import AskTool
from acp_server.tools.files import Files
from acp_server.tools.late_tool import ASK_DESCRIPTION, DESCRIPTIONS, TASK_DESCRIPTION, WEB, schemas_of
from acp_server.tools.task import TaskTool
from acp_server.tools.tool import AnyTool, ToolContext
from tests.support.event_catalog import catalog_text
from tests.support.launch import REPOSITORY

ROWS_FILE = REPOSITORY / "acp_server" / "app" / "default_rows.py"
SCHEMA_FILE = REPOSITORY / "schemas" / "settings.schema.json"
PRESET_SCHEMA_FILE = REPOSITORY / "schemas" / "preset.schema.json"
CATALOG_FILE = REPOSITORY / "docs" / "event-catalog.md"

_HEAD = '''"""The rows of the bundles `base` and `acp`, as code: what a process is made of that nobody has configured.

Made from the bundles by `python -m tests.support.generated`, since reading TOML takes longer than all of these rows.
"""

from __future__ import annotations

from typing import Final

from acp_server.app.row import Row

ROWS: Final = (
'''


def rows_text() -> str:
    rows = [row for name in TEMPLATES["acp"] for row in bundle_rows(name, "generated")]
    return _HEAD + "".join(map(_row, rows)) + ")\n"


def _row(row: Row) -> str:
    lines = [f"    Row(\n        id={_text(row.id)},\n        component={_text(row.component)},\n"]
    config = pprint.pformat(dict(row.config), width=100, sort_dicts=False).replace("'", '"')
    inner = config.replace("\n", "\n        ")
    if "\n" in config:
        body = inner[1:-1].replace("\n         ", "\n            ")
        lines.append(f"        config={{\n            {body},\n        }},\n")
    else:
        lines.append(f"        config={config},\n")
    if row.requires:
        lines.append(f"        requires=({', '.join(map(_text, row.requires))},),\n")
    return "".join([*lines, "    ),\n"])


def _text(words: str) -> str:
    return json.dumps(words)


def schema_text() -> str:
    return _schema(Settings, "acp-server settings")


def preset_schema_text() -> str:
    return _schema(PresetFile, "acp-server preset")


def _schema(model: type[BaseModel], title: str) -> str:
    schema = model.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return json.dumps({**head, **{key: part for key, part in schema.items() if key != "title"}}, indent=2) + "\n"


async def no_servers(_context: ToolContext) -> tuple[SessionServers, Files]:
    raise AssertionError("a description opens nothing")


def tools_text(tools: Sequence[AnyTool]) -> str:
    schemas = schemas_of(tools)
    entries = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in schemas]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def described() -> tuple[tuple[Path, Sequence[AnyTool]], ...]:
    """Return the tools that are described in files, by file."""
    return (
        (WEB, web_tools({}, None)),
        (DESCRIPTIONS, standard_tools(ToolStates(Machine({})))),
        (LSP_DESCRIPTIONS, lsp_tools(no_servers)),
        (ASK_DESCRIPTION, (AskTool(),)),
        (TASK_DESCRIPTION, (TaskTool(Delegation(None)),)),
    )


def main() -> None:
    SCHEMA_FILE.parent.mkdir(exist_ok=True)
    files = (
        (ROWS_FILE, rows_text()),
        (SCHEMA_FILE, schema_text()),
        (PRESET_SCHEMA_FILE, preset_schema_text()),
        *((path, tools_text(tools)) for path, tools in described()),
        (CATALOG_FILE, catalog_text()),
    )
    for path, text in files:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
