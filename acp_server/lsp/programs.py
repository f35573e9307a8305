"""Finding a language server's program (docs/lsp.md, clauses P-1 and P-2).

Owns that none comes from the workspace, where commands and strangers may write. Light: it is asked before the first
request to a model.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from acp_server.lsp.servers import LanguageServer


def find_program(server: LanguageServer, path: str, workspace: str = "") -> str | None:
    """Return where a server's program is by a PATH, or None; none below the workspace."""
    name = server.command[0]
    named = [Path(name)] if name.startswith("/") else [Path(folder) / name for folder in path.split(":")]
    for program in named:
        if not program.is_absolute() or not program.is_file() or not os.access(program, os.X_OK):
            continue
        real = program.resolve()
        if workspace and any(each.is_relative_to(workspace) for each in (Path(os.path.normpath(program)), real)):
            continue
        if server.least_major <= _major(real):
            return str(program)
    return None


def _major(program: Path) -> int:
    """Return the major version in the package.json above a program of npm's, 0 where there is none."""
    try:
        return int(json.loads((program.parent.parent / "package.json").read_text("utf-8"))["version"].partition(".")[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0
