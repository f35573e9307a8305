"""Directories that are held open for a session (docs/sandbox.md, clause F-1)."""

from __future__ import annotations

import os

from acp_server.base.errors import ServerError
from acp_server.sandbox.lists import within
from acp_server.sandbox.openat import PATH_ONLY, open_strictly
from acp_server.sandbox.survey import folds_case


class Roots:
    """Directories that are held open for a session: its workspace and the person's further ones, canonical."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Open them. Raise ServerError INVALID_ROOT for one that is no directory."""
        self._held: dict[str, int] = {}
        for path in dict.fromkeys((*paths, "/")):
            try:
                self._held[path] = open_strictly(path, PATH_ONLY | os.O_DIRECTORY)
            except OSError as error:
                self.close()
                raise ServerError("INVALID_ROOT", f"{path} cannot be used as a root: {error.strerror}.") from error
        self.folds_case = any(folds_case(path) for path in paths)

    def nearest(self, path: str) -> tuple[int, str]:
        """Return the descriptor of the closest root above a canonical path, and the rest of the path."""
        root = max((root for root in self._held if within(path, root)), key=len)
        return self._held[root], path[len(root.rstrip("/")) + 1 :] or "."

    def close(self) -> None:
        """Let go of them; harmless when done before."""
        while self._held:
            os.close(self._held.popitem()[1])
