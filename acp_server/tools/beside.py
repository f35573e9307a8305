"""The port to what lies beside a session's log: earlier bytes of files, long results, output of commands.

Refuses to know where that is. What is kept goes with the session: it is there after a load and away with it.
"""

from __future__ import annotations

from typing import Protocol

from acp_server.base.values import value


@value
class Whole:
    """A file that holds all of a text of which a result shows a part; `size` is in bytes."""

    path: str
    size: int


class Beside(Protocol):
    """What one session keeps beside its log."""

    async def keep(self, content: bytes) -> str | None:
        """Keep bytes durably and return their id; None where that would be too much for one session.

        Raises:
            ServerError: the disk refused.
        """
        ...

    async def keep_text(self, text: str) -> str | None:
        """Keep a text in a file that the session's tools may read and return its path, None where nothing is kept."""
        ...

    async def new_file(self) -> str | None:
        """Return the path of a file to make, which the session's tools may read then; None where nothing is kept."""
        ...

    async def settle(self) -> None:
        """Return once everything that was recorded so far is durable; raise ServerError when it cannot be."""
        ...


class NothingBeside:
    """Nothing is kept; see Beside."""

    async def keep(self, content: bytes) -> str | None:  # noqa: ARG002 - the port's signature
        """See Beside."""
        return None

    async def keep_text(self, text: str) -> str | None:  # noqa: ARG002 - the port's signature
        """See Beside."""
        return None

    async def new_file(self) -> str | None:
        """See Beside."""
        return None

    async def settle(self) -> None:
        """See Beside."""
