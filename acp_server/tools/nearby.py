"""What to say of a path that is not there: which names near it are."""

from __future__ import annotations

import posixpath
from difflib import get_close_matches
from typing import Final

from acp_server.tools.files import Files
from acp_server.tools.tool import ToolError

_LOOKED_AT: Final = 2000
_NAMED: Final = 3


async def not_found(files: Files, path: str, shown: str) -> ToolError:
    """Return the error NOT_FOUND, with the names in the directory that are most like the missing one."""
    folder, name = posixpath.split(path)
    try:
        names = [entry.name for entry in (await files.list_dir(folder, _LOOKED_AT)).entries]
    except ToolError:
        return ToolError("NOT_FOUND", f"{shown} does not exist, nor does its directory")
    same = [one for one in names if one.casefold() == name.casefold()]
    stem = name.partition(".")[0]
    near = same or get_close_matches(name, names, _NAMED, 0.7) or [one for one in names if one.split(".")[0] == stem]
    meant = f"; near it are {', '.join(near[:_NAMED])}" if near else ""
    return ToolError("NOT_FOUND", f"{shown} does not exist{meant}")
