"""The port through which an agent runs tools, and the toolbox that has none.

Owns the values that cross it. Validation, policies and consent live behind it; order and the log are `calls`' matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.blocks import Block, Message, TextBlock, ToolCallBlock
from acp_server.messages.request import ToolSchema


@value
class ToolError:
    """The stable name and code of a failed call, for programs; the words are in the result's content."""

    name: str
    code: str


@value
class ToolOutcome:
    """What a call gave back. `meta` is for the editor's card, `contexts` join the next step."""

    content: tuple[Block, ...]
    error: ToolError | None = None
    meta: JsonValue = None
    contexts: tuple[Message, ...] = ()
    concludes_turn: bool = False


def failed(name: str, code: str, words: str, meta: JsonValue = None) -> ToolOutcome:
    """Return the outcome of a call that failed with these words."""
    return ToolOutcome((TextBlock(f"Error: {words}"),), ToolError(name, code), meta)


@value
class CallPlace:
    """Which call this is: session, turn and step, and the call itself."""

    session_id: str
    turn: int
    step: int
    call: ToolCallBlock


class ToolBox(Protocol):
    """The tools of one session."""

    def schemas(self) -> Sequence[ToolSchema]:
        """Return the tools as the model sees them, in a stable order."""
        ...

    def parallel(self, call: ToolCallBlock) -> bool:
        """Return whether the call may run beside others; asked right before it starts."""
        ...

    def view(self, call: ToolCallBlock) -> JsonValue:
        """Return how an editor draws the call before it runs, as the log keeps it; None where nothing is known."""
        ...

    def asks(self, place: CallPlace) -> bool:
        """Return whether the person will be asked before the call runs, as far as is known before hooks decide."""
        ...

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        """Run the call to its end. A cancelled call ends soon and says so in its outcome; nothing is raised."""
        ...


class NoTools:
    """A toolbox without tools: a call that a model makes all the same is answered as unknown."""

    def schemas(self) -> Sequence[ToolSchema]:
        """See ToolBox."""
        return ()

    def parallel(self, call: ToolCallBlock) -> bool:  # noqa: ARG002 - the port's signature
        """See ToolBox."""
        return False

    def view(self, call: ToolCallBlock) -> JsonValue:  # noqa: ARG002 - the port's signature
        """See ToolBox."""
        return None

    def asks(self, place: CallPlace) -> bool:  # noqa: ARG002 - the port's signature
        """See ToolBox."""
        return False

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:  # noqa: ARG002 - the port's signature
        """See ToolBox."""
        return failed("UnknownToolError", "UNKNOWN_TOOL", f"there is no tool named {place.call.name!r}")
