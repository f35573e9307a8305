"""The registered tools as the toolbox of one session: what a call would do, how it is drawn, and its run.

Owns the way from raw arguments to an outcome, and a reminder for a model that repeats itself. Whether a call may run is
decided before (`consent.approvals`); what it may touch travels with it as a policy.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

from acp_server.agent.services import NO_ATTACHMENTS
from acp_server.agent.tools import CallPlace, ToolOutcome, failed
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import replace, value
from acp_server.messages.blocks import TextBlock, ToolCallBlock
from acp_server.sandbox.policy import Policy
from acp_server.session.session import Session
from acp_server.session.whole_texts import WHOLE
from acp_server.tools.arguments import read_arguments
from acp_server.tools.beside import Beside, Whole
from acp_server.tools.client_side import NO_CLIENT, ClientSide
from acp_server.tools.remembering import facts_in
from acp_server.tools.run import Limits, run_tool
from acp_server.tools.tool import AnyTool, Card, Effect, ToolError, ToolResult, card_to_json

PolicyFor: TypeAlias = Callable[[CallPlace], Policy]
Progress: TypeAlias = Callable[[str, str], None]
"""Gets a call's id and its latest output."""
RAW_BYTES: Final = 32 * 1024
"""Bytes of a raw output as JSON that the log keeps and the editor gets; a larger one is left out whole."""
REPEATS: Final = frozenset({3, 5, 8})
"""Identical calls in a row at which the model is reminded."""


@value
class Scene:
    """What the tools of one session work in. `cwd` is absolute; `sees` is whether the model reads images."""

    session: Session
    cwd: str
    policy: PolicyFor
    progress: Progress
    beside: Beside
    limits: Limits = Limits()
    client: ClientSide = NO_CLIENT
    keep_image: Callable[[bytes], Awaitable[str]] = NO_ATTACHMENTS.put
    sees: Callable[[], bool] = lambda: False
    offers: Callable[[str], bool] = lambda _name: True
    """Whether the session has the tool of that name."""


@value
class _Context:
    """See ToolContext."""

    session_id: str
    call_id: str
    cwd: str
    policy: Policy
    cancel: CancelToken
    scene: Scene
    facts: dict[str, list[JsonValue]]
    client: ClientSide

    @property
    def beside(self) -> Beside:
        """See ToolContext."""
        return self.scene.beside

    @property
    def reads_images(self) -> bool:
        """See ToolContext."""
        return self.scene.sees()

    async def keep_image(self, content: bytes) -> str:
        """See ToolContext."""
        return await self.scene.keep_image(content)

    def progress(self, text: str) -> None:
        """See ToolContext."""
        self.scene.progress(self.call_id, text)

    def record(self, kind: str, data: JsonObject, *, ignorable: bool = False) -> None:
        """See ToolContext."""
        self.scene.session.append(kind, data, ignorable=ignorable)

    def remember(self, kind: str, fact: JsonObject) -> None:
        """See ToolContext."""
        self.facts.setdefault(kind, []).append(fact)

    def remembered(self, kind: str) -> Iterator[JsonObject]:
        """See ToolContext."""
        return facts_in(self.scene.session.events, kind)


class ToolTable(Protocol):
    """The tools that there are."""

    def find(self, name: str) -> AnyTool | None:
        """Return the tool of that name, or None."""
        ...


class Toolbox:
    """See ToolBox, but for the schemas, and consent.approvals.Judged."""

    def __init__(self, tools: ToolTable, scene: Scene) -> None:
        self._tools = tools
        self._scene = scene
        self._last: tuple[str, str] = ("", "")
        self._repeated = 0

    def parallel(self, call: ToolCallBlock) -> bool:
        """See ToolBox; what cannot be told runs alone."""
        found = self._find(call)
        return found is not None and found[0].parallel(found[1]) is True

    def effect(self, place: CallPlace) -> Effect | None:
        """Return what the call would do, None for a call that cannot run anyway."""
        found = self._find(place.call)
        if found is None:
            return None
        effect = found[0].effect(found[1], self._scene.cwd)
        return effect if self._scene.client.terminals or not effect.unconfined else replace(effect, unconfined=False)

    def card(self, place: CallPlace) -> Card:
        """Return how the call is drawn; a call that cannot run is drawn by its name."""
        return self._card(place.call) or Card(place.call.name, "other")

    def view(self, call: ToolCallBlock) -> JsonValue:
        """See ToolBox."""
        card = self._card(call)
        return None if card is None else card_to_json(card)

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        """See ToolBox."""
        tool = self._tool(place.call.name)
        if tool is None:
            return failed("UnknownToolError", "UNKNOWN_TOOL", f"there is no tool named {place.call.name!r}")
        context = self._context(place, cancel)
        try:
            arguments = read_arguments(tool, place.call.arguments)
            result = await run_tool(tool, arguments, context, self._scene.limits)
        except ToolError as error:
            outcome = failed("ToolError", error.code, error.message, _meta(None, context.facts, error.whole))
            return self._reminded(place.call, outcome)
        except ServerError as error:
            return failed("ServerError", error.code, error.message, _meta(None, context.facts))
        meta = _meta(result, context.facts)
        return self._reminded(place.call, ToolOutcome(result.content, meta=meta, contexts=result.contexts))

    def _context(self, place: CallPlace, cancel: CancelToken) -> _Context:
        scene = self._scene
        return _Context(
            session_id=place.session_id,
            call_id=place.call.id,
            cwd=scene.cwd,
            policy=scene.policy(place),
            cancel=cancel,
            scene=scene,
            facts={},
            client=scene.client,
        )

    def _card(self, call: ToolCallBlock) -> Card | None:
        found = self._find(call)
        return None if found is None else found[0].card(found[1], self._scene.cwd)

    def _tool(self, name: str) -> AnyTool | None:
        return self._tools.find(name) if self._scene.offers(name) else None

    def _find(self, call: ToolCallBlock) -> tuple[AnyTool, Any] | None:
        """Return the tool and its checked arguments, None where either is wrong: the call's own run tells what."""
        tool = self._tool(call.name)
        if tool is None:
            return None
        try:
            return tool, read_arguments(tool, call.arguments)
        except ToolError:
            return None

    def _reminded(self, call: ToolCallBlock, outcome: ToolOutcome) -> ToolOutcome:
        same = (call.name, call.arguments)
        self._repeated = self._repeated + 1 if same == self._last else 1
        self._last = same
        if self._repeated not in REPEATS:
            return outcome
        times = f"{self._repeated} times in a row"
        note = f"[This same call was made {times}. Do something else, or say what stops you.]"
        return ToolOutcome((*outcome.content, TextBlock(note)), outcome.error, outcome.meta, outcome.contexts)


def _meta(
    result: ToolResult | None, facts: Mapping[str, list[JsonValue]], whole: Whole | None = None
) -> JsonObject | None:
    """Return what the log keeps of a call and no model reads.

    That is its card, its raw output unless too long, its facts, and where all of a text is of which it shows a part.
    """
    meta: dict[str, JsonValue] = {}
    whole = whole if result is None else result.whole
    if whole is not None:
        meta[WHOLE] = whole.path
    if facts:
        meta["facts"] = {kind: list(kept) for kind, kept in facts.items()}
    if result is not None and result.card is not None:
        meta["card"] = card_to_json(result.card)
    if result is not None and result.raw_output is not None:
        size = len(json.dumps(result.raw_output, ensure_ascii=False).encode("utf-8", "replace"))
        meta["rawOutput"] = result.raw_output if size <= RAW_BYTES else {"leftOut": size}
    return meta or None
