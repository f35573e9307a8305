"""Which files the person has open, as a client tells it with a prompt (docs/extensions.md, EX-50 to EX-53). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.acp.queue import KEY
from acp_server.acp.rendering import shown_line
from acp_server.base.values import value

EDITOR: Final = "editor"
MOST_FILES: Final = 50
MOST_OF_A_PATH: Final = 400


@value
class OpenFile:
    """A file that is open in the person's editor."""

    path: str
    unsaved: bool


@value
class EditorState:
    """The files that are open, by their paths, and the one that is in front."""

    files: tuple[OpenFile, ...]
    active: str | None

    def words(self, cwd: str | None) -> str | None:
        """Return what a model is told, None when nothing is open; paths below `cwd` are told from there."""
        lines = [self._line(file, cwd) for file in self.files[:MOST_FILES]]
        if len(self.files) > MOST_FILES:
            lines.append(f"- and {len(self.files) - MOST_FILES} more")
        return "\n".join(["Open in the person's editor when they wrote:", *lines]) if lines else None

    def _line(self, file: OpenFile, cwd: str | None) -> str:
        path = shown_line(file.path.removeprefix(f"{cwd.rstrip('/')}/") if cwd else file.path)[:MOST_OF_A_PATH]
        facts = [*(["in front"] if file.path == self.active else []), *(["unsaved changes"] if file.unsaved else [])]
        return f"- {path} ({', '.join(facts)})" if facts else f"- {path}"


def editor_state(meta: object) -> EditorState | None:
    """Return what `_meta` of a prompt says of the person's editor, None when it says nothing.

    What is not as it should be is passed over: a prompt is not refused for what is said beside it.
    """
    own = meta.get(KEY) if isinstance(meta, Mapping) else None
    given = own.get(EDITOR) if isinstance(own, Mapping) else None
    if not isinstance(given, Mapping):
        return None
    found = given.get("files")
    files = {}
    for entry in found if isinstance(found, list | tuple) else ():
        path = entry.get("path") if isinstance(entry, Mapping) else None
        if isinstance(path, str) and path.startswith("/"):
            files[path] = OpenFile(path, entry.get("unsaved") is True)
    active = given.get("active")
    return EditorState(tuple(files[path] for path in sorted(files)), active if isinstance(active, str) else None)
