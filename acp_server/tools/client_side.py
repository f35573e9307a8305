"""The port to what the client at the other end offers to tools: the text of its buffers, and its terminals.

Refuses to decide which path may be asked for and which command may run: both are settled before.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import value


class ClientFailedError(ServerError):
    """The client did not do what it offers; the sentence says how it failed."""

    def __init__(self, message: str) -> None:
        super().__init__("CLIENT_FAILED", message)


@value
class TerminalExit:
    """How a command in a client's terminal ended; both are None when the client did not say."""

    code: int | None
    signal: str | None


@value
class TerminalOutput:
    """What a terminal shows; `truncated` when its beginning is gone."""

    text: str
    truncated: bool
    exit: TerminalExit | None


class Terminal(Protocol):
    """One terminal of the client. After `release` it is no longer used."""

    @property
    def id(self) -> str:
        """Return the client's name for it."""
        ...

    async def wait(self, seconds: float, cancel: CancelToken) -> TerminalExit | None:
        """Return how the command ended, or None when it still runs after that time.

        Raises:
            ClientFailedError: the client cannot say.
            Cancelled: the token was cancelled.
        """
        ...

    async def output(self, seconds: float) -> TerminalOutput | None:
        """Return what it shows, or None when the client does not say in that time."""
        ...

    def kill(self) -> None:
        """Have its command ended; waits for nothing."""
        ...

    def release(self) -> None:
        """Give it back, whatever state it is in; waits for nothing."""
        ...


@value
class TerminalCommand:
    """What is to run in a terminal: a program with its arguments, each a word of its own."""

    program: str
    arguments: tuple[str, ...]
    cwd: str
    environment: tuple[tuple[str, str], ...]
    most_bytes: int


@value
class Choice:
    """An answer to choose; `description` may be empty."""

    label: str
    description: str = ""


@value
class Inquiry:
    """A question to the person. `several` is whether more than one of the choices may be taken."""

    question: str
    options: tuple[Choice, ...] = ()
    several: bool = False


ReplyKind: TypeAlias = Literal["answered", "declined", "dismissed", "as-text", "nobody"]


@value
class Reply:
    """What became of a question: `as-text` when it has to be asked in words, `nobody` when no person is there."""

    outcome: ReplyKind
    answer: tuple[str, ...] = ()


class ClientSide(Protocol):
    """What the client of one session offers at the moment."""

    @property
    def reads(self) -> bool:
        """Return whether it gives the text of files."""
        ...

    @property
    def writes(self) -> bool:
        """Return whether it takes the text of files."""
        ...

    @property
    def terminals(self) -> bool:
        """Return whether commands can run in its terminals."""
        ...

    async def read_text(self, path: str, cancel: CancelToken) -> str | None:
        """Return all text that the client has for a canonical path, None where it gives none, for whatever reason.

        Raises:
            Cancelled: the token was cancelled.
        """
        ...

    async def write_text(self, path: str, text: str, cancel: CancelToken) -> None:
        """Have the client write a file's whole text.

        Raises:
            ClientFailedError: it refused, or said nothing in time: whether it wrote is unknown.
            Cancelled: the token was cancelled; whether it wrote is unknown.
        """
        ...

    async def open_terminal(self, command: TerminalCommand, call_id: str, cancel: CancelToken) -> Terminal:
        """Return a terminal in which the command runs; it is shown in the card of that call.

        Raises:
            ClientFailedError: there is none.
            Cancelled: the token was cancelled. A terminal that comes all the same is killed and given back.
        """
        ...

    async def ask(self, inquiry: Inquiry, call_id: str, cancel: CancelToken) -> Reply:
        """Put a question to the person, in the card of that call; return what became of it.

        Raises:
            Cancelled: the token was cancelled.
        """
        ...


class NoClient:
    """See ClientSide; a client that offers nothing."""

    reads = False
    writes = False
    terminals = False

    async def read_text(self, path: str, cancel: CancelToken) -> str | None:  # noqa: ARG002 - the port's signature
        """See ClientSide."""
        return None

    async def write_text(self, path: str, text: str, cancel: CancelToken) -> None:  # noqa: ARG002 - the port's signature
        """See ClientSide."""
        raise ClientFailedError("There is no editor that writes files.")

    async def open_terminal(
        self,
        command: TerminalCommand,  # noqa: ARG002 - the port's signature
        call_id: str,  # noqa: ARG002 - likewise
        cancel: CancelToken,  # noqa: ARG002 - likewise
    ) -> Terminal:
        """See ClientSide."""
        raise ClientFailedError("There is no editor that has terminals.")

    async def ask(self, inquiry: Inquiry, call_id: str, cancel: CancelToken) -> Reply:  # noqa: ARG002 - likewise
        """See ClientSide."""
        return Reply("nobody")


NO_CLIENT: Final = NoClient()
