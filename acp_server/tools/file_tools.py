"""The file tools together, as an agent is given them."""

from __future__ import annotations

from acp_server.tools.edit import EditTool
from acp_server.tools.files import OpenAccess
from acp_server.tools.glob import GlobTool
from acp_server.tools.grep import GrepTool
from acp_server.tools.list_directory import ListTool
from acp_server.tools.multi_edit import MultiEditTool
from acp_server.tools.read import ReadTool
from acp_server.tools.tool import AnyTool
from acp_server.tools.write import WriteTool


def file_tools(open_access: OpenAccess, ripgrep: str | None = None) -> tuple[AnyTool, ...]:
    """Return the tools that read, search and change files; `ripgrep` is the program's path where there is one."""
    return (
        ReadTool(open_access),
        WriteTool(open_access),
        EditTool(open_access),
        MultiEditTool(open_access),
        GlobTool(open_access, ripgrep),
        GrepTool(open_access, ripgrep),
        ListTool(open_access),
    )
