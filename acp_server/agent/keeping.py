"""The port through which an agent keeps its conversation within the model's window. Owns the signatures only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acp_server.base.cancel import CancelToken
from acp_server.messages.blocks import Message
from acp_server.messages.request import CallConfig


class Usage(Protocol):
    """How full the window is, in tokens."""

    @property
    def used(self) -> int:
        """Return what the next request would have, as far as it is known."""
        ...

    @property
    def window(self) -> int | None:
        """Return what the model can read and write together; None when nobody knows."""
        ...

    @property
    def limit(self) -> int | None:
        """Return where compaction begins; None where it does not by itself."""
        ...


class Keeper(Protocol):
    """Keeps one session's requests within the window. None of its failures ends a turn."""

    async def before_step(
        self, config: CallConfig, turn: int, entering: Sequence[Message], cancel: CancelToken
    ) -> None:
        """Make room where the request to come needs it; `entering` waits to join.

        Raises:
            Cancelled: the turn was cancelled meanwhile.
        """
        ...

    async def after_overflow(self, config: CallConfig, turn: int, cancel: CancelToken) -> bool:
        """Return whether a request that the model found too long got shorter; raise as `before_step`."""
        ...

    async def compact(self, config: CallConfig, focus: str, command_id: str, cancel: CancelToken) -> str:
        """Compact outside of turns, as the person asked; return what they are told.

        Raises:
            ServerError: it failed; the conversation is as it was.
            Cancelled: the token was cancelled.
        """
        ...

    def reading(self, config: CallConfig, window: int | None) -> Usage:
        """Return how full the window is."""
        ...
