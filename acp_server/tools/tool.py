"""What a tool is: a name, arguments, an effect that can be judged before it happens, and a run.

Owns the ports between tools, consent and the editor's cards. Knows no protocol and no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value
from acp_server.messages.blocks import Block, Message
from acp_server.sandbox.policy import Policy
from acp_server.tools.beside import Beside, Whole
from acp_server.tools.client_side import ClientSide

if TYPE_CHECKING:
    from pydantic import BaseModel

Arguments_contra = TypeVar("Arguments_contra", bound="BaseModel", contravariant=True)
EffectKind: TypeAlias = Literal["none", "read", "edit", "execute", "fetch", "mcp"]
CardKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]


class ToolError(ServerError):
    """A call that failed in a way that the model is told of: a stable code and one or more plain sentences.

    `whole` names a file that holds all of what the sentences show a part of.
    """

    def __init__(self, code: str, message: str, whole: Whole | None = None) -> None:
        super().__init__(code, message)
        self.whole = whole


@value
class Effect:
    """What a call would do, computed from the very arguments that run; consent judges it and shows it.

    `paths` are absolute; `command` is the exact shell text, `unconfined` when it would run outside of every sandbox,
    `hosts` what it wants to reach; `url` is the exact address. A tool of an MCP server is named by
    `server` and `tool`; `arguments` is the exact JSON that it gets.
    """

    kind: EffectKind
    paths: tuple[str, ...] = ()
    command: str | None = None
    url: str | None = None
    hosts: tuple[str, ...] = ()
    unconfined: bool = False
    server: str | None = None
    tool: str | None = None
    arguments: str | None = None
    background: bool = False
    """Whether the command goes on beside the turn, without a limit of time."""


@value
class Location:
    """A place in a file, for the editor to follow along; `line` counts from 1."""

    path: str
    line: int | None = None


@value
class Diff:
    """One applied or intended change of a file; `old` is None for a file that was not there."""

    path: str
    old: str | None
    new: str


@value
class Card:
    """How the editor draws a call. Everything is optional but title and kind."""

    title: str
    kind: CardKind
    locations: tuple[Location, ...] = ()
    diffs: tuple[Diff, ...] = ()


def card_to_json(card: Card) -> dict[str, JsonValue]:
    """Return the card as the log keeps it: what is empty is left out."""
    data: dict[str, JsonValue] = {"title": card.title, "kind": card.kind}
    if card.locations:
        data["locations"] = [
            {"path": place.path, **({} if place.line is None else {"line": place.line})} for place in card.locations
        ]
    if card.diffs:
        data["diffs"] = [
            {"path": diff.path, **({} if diff.old is None else {"old": diff.old}), "new": diff.new}
            for diff in card.diffs
        ]
    return data


@value
class ToolResult:
    """What a call gave: `content` for the model, `card` for the editor where it says more than before.

    `whole` names a file that holds all of the text, where that is kept already.
    """

    content: tuple[Block, ...]
    card: Card | None = None
    raw_output: JsonObject | None = None
    contexts: tuple[Message, ...] = ()
    whole: Whole | None = None


class ToolContext(Protocol):
    """What a running call is given. Paths that a model names are resolved against `cwd`."""

    @property
    def session_id(self) -> str:
        """Return the session's id."""
        ...

    @property
    def call_id(self) -> str:
        """Return the call's id."""
        ...

    @property
    def cwd(self) -> str:
        """Return the session's directory, absolute."""
        ...

    @property
    def policy(self) -> Policy:
        """Return what this call may touch."""
        ...

    @property
    def cancel(self) -> CancelToken:
        """Return the turn's token."""
        ...

    @property
    def client(self) -> ClientSide:
        """Return what the client at the other end offers."""
        ...

    @property
    def reads_images(self) -> bool:
        """Return whether the model of the session is not known to read no images."""
        ...

    async def keep_image(self, content: bytes) -> str:
        """Keep an image beside the session's log, durably; return the id by which an ImageBlock may name it.

        Raises:
            ServerError: it cannot be kept.
        """
        ...

    def progress(self, text: str) -> None:
        """Show the latest output of a call that runs; cheap, may be dropped."""
        ...

    @property
    def beside(self) -> Beside:
        """Return what the session keeps beside its log."""
        ...

    def record(self, kind: str, data: JsonObject, *, ignorable: bool = False) -> None:
        """Put an event of the tool's own into the session's log; raise ServerError when the log refuses."""
        ...

    def remember(self, kind: str, fact: JsonObject) -> None:
        """Keep a fact with the call's result in the log, for later calls and later lives of the session."""
        ...

    def remembered(self, kind: str) -> Iterator[JsonObject]:
        """Iterate over the facts of that kind that earlier calls kept, in order; it reads the whole log."""
        ...


class Tool(Protocol, Generic[Arguments_contra]):
    """One tool. Everything but `run` is pure."""

    @property
    def name(self) -> str:
        """Return the name that the model calls."""
        ...

    @property
    def description(self) -> str:
        """Return what the model is told about it."""
        ...

    @property
    def arguments(self) -> type[BaseModel]:
        """Return the model of its arguments, extra keys forbidden; its JSON Schema is what the model sees."""
        ...

    def effect(self, arguments: Arguments_contra, cwd: str) -> Effect:
        """Return what the call would do."""
        ...

    def card(self, arguments: Arguments_contra, cwd: str) -> Card:
        """Return how the editor draws the call before it has run."""
        ...

    def parallel(self, arguments: Arguments_contra) -> bool:
        """Return whether it may run beside other calls."""
        ...

    async def run(self, arguments: Arguments_contra, context: ToolContext) -> ToolResult:
        """Run to the end.

        Raises:
            ToolError: what the model should know and can act on.
            Cancelled: the turn was cancelled and nothing is left half done.
        """
        ...


AnyTool: TypeAlias = Tool[Any]
ToolFactory: TypeAlias = Callable[[], Sequence[AnyTool]]
