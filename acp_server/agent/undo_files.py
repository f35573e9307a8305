"""The port through which an undo reaches a session's files. Owns the signatures only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from acp_server.base.cancel import CancelToken
from acp_server.session.file_changes import FileState
from acp_server.session.file_undo import Present, Step


class UndoFiles(Protocol):
    """The files of one session, as an undo needs them."""

    async def look(self, paths: Sequence[str], cancel: CancelToken) -> Mapping[str, Present]:
        """Return what each canonical path holds; what must not be touched says why."""
        ...

    async def keep(self, step: Step) -> FileState:
        """Keep what the file holds, durably, and return it with where it is kept.

        Raises:
            ServerError: it is not as the step says, or cannot be kept.
        """
        ...

    async def put(self, step: Step) -> None:
        """Make the file what the step says, whole or not at all.

        Raises:
            ServerError: nothing was changed.
        """
        ...
