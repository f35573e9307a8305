"""Session events into session updates: one fold, used live and on load (docs/protocol.md, clauses U-01 to U-15).

Pure: takes events in order, returns updates. Live user messages are not echoed; everything else is the same both
ways. Chunks are shown as they come; a finished block is shown only when no chunk of it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from acp_server.acp.modes import mode_update
from acp_server.acp.plan import plan_update
from acp_server.acp.times import iso_utc
from acp_server.acp.tool_cards import ToolCards
from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.prices import CURRENCY
from acp_server.session.events import APPEND, SessionEvent
from acp_server.session.usage import UsageProjection, total_cost

MESSAGE: Final = "agent_message_chunk"
THOUGHT: Final = "agent_thought_chunk"
USER: Final = "user_message_chunk"
TOLD_WAIT_MS: Final = 2000
"""A wait before another try is told to the person from this length on."""


@value
class TextUpdate:
    """More text of one message; neighbours of one message may be merged."""

    kind: str
    message_id: str
    text: str


Update: TypeAlias = TextUpdate | dict[str, Any]
NOTHING: Final[Sequence[Update]] = ()
PLAIN: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "todo/write": plan_update,
    "permission/preset": mode_update,
}
"""Events that are one update each, whatever came before."""
_SPENDING: Final = UsageProjection()


class Presenter:
    """The fold's state for one session."""

    def __init__(self) -> None:
        self._echo_user = True
        self._shown: set[int] = set()
        """Indexes of blocks of the running attempt of which something was shown."""
        self.cards = ToolCards()
        self._window: int | None = None
        self._spent: JsonValue = _SPENDING.initial()

    def go_live(self) -> None:
        """From here on the person sees prompts as they are typed: echo none (clause P-16)."""
        self._echo_user = False

    def present(self, event: SessionEvent) -> Sequence[Update]:
        """Return the updates that the event gives rise to, in order."""
        if event.type == "assistant/chunk":
            return self._chunk(event.data)
        self._spent = _SPENDING.apply(self._spent, event)
        match event.type:
            case "assistant/message":
                return self._message(event)
            case "tool/call":
                return self.cards.started(event.data)
            case "tool/result":
                return self.cards.ended(event.data) if event.surface_op == APPEND else NOTHING
            case "user/message":
                return self._user(event)
            case "session/title":
                return self._title(event)
            case "command/run" | "command/done":
                return self._command(event)
            case "llm/retry":
                return self._retry(event.data)
            case "request/context":
                window = event.data.get("contextWindow")
                self._window = window if isinstance(window, int) else None
            case "step/start":
                self._shown.clear()
            case "turn/end":
                return self.cards.close_all("cancelled")
            case other if other in PLAIN:
                return (PLAIN[other](event.data),)
        return NOTHING

    def _chunk(self, data: Mapping[str, Any]) -> Sequence[Update]:
        chunk = data["chunk"]
        kind = chunk["type"]
        if kind == "text-delta":
            return self._text(data, MESSAGE, chunk["index"], chunk["text"])
        if kind == "reasoning-delta":
            return self._text(data, THOUGHT, chunk["index"], chunk["text"])
        if kind == "tool-call-delta":
            return self.cards.named(data, chunk["id"], chunk.get("name"))
        if kind == "block-end":
            return self._block_end(data, chunk["index"], chunk["block"])
        return NOTHING

    def _text(self, data: Mapping[str, Any], kind: str, index: int, text: str) -> Sequence[Update]:
        if not text:
            return NOTHING
        self._shown.add(index)
        return (TextUpdate(kind, f"m{data['turn']}-{data['step']}-{index}", text),)

    def _block_end(self, data: Mapping[str, Any], index: int, block: Mapping[str, Any]) -> Sequence[Update]:
        if index in self._shown:
            return NOTHING
        return self._block(data, index, block)

    def _block(self, data: Mapping[str, Any], index: int, block: Mapping[str, Any]) -> Sequence[Update]:
        match block["type"]:
            case "text":
                return self._text(data, MESSAGE, index, block["text"])
            case "reasoning":
                return self._text(data, THOUGHT, index, block["text"])
            case "tool-call":
                return self.cards.named(data, block["id"], block["name"])
            case _:
                return NOTHING

    def _message(self, event: SessionEvent) -> Sequence[Update]:
        if event.surface_op != APPEND:
            return NOTHING
        updates: list[Update] = []
        message: Any = event.data["message"]
        for index, block in enumerate(message["content"]):
            if event.source_event_seqs is None or block["type"] == "tool-call":
                updates += self._block(event.data, index, block)
        self._shown.clear()
        return [*updates, *self._usage(event.data.get("usage"))]

    def _usage(self, usage: Any) -> Sequence[Update]:
        if not isinstance(usage, Mapping) or self._window is None:
            return NOTHING
        keys = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
        used = sum(usage.get(key) or 0 for key in keys)
        amount = total_cost(self._spent)
        cost = {} if amount is None else {"cost": {"amount": amount, "currency": CURRENCY}}
        return ({"sessionUpdate": "usage_update", "used": used, "size": self._window, **cost},)

    def _user(self, event: SessionEvent) -> Sequence[Update]:
        message: Any = event.data
        if not self._echo_user or event.surface_op != APPEND or message["source"]["kind"] != "user":
            return NOTHING
        texts = [block["text"] for block in message["content"] if block["type"] == "text"]
        return [TextUpdate(USER, message["id"], text) for text in texts]

    def _retry(self, data: Mapping[str, Any]) -> Sequence[Update]:
        self._shown.clear()
        updates: list[Update] = [*self.cards.give_up(data, "the answer broke off; asking the model again")]
        if data["delayMs"] >= TOLD_WAIT_MS:
            seconds = round(data["delayMs"] / 1000)
            text = f"{data['failure']['message']} Trying again in {seconds} s.\n"
            updates.append(TextUpdate(THOUGHT, f"r{data['turn']}-{data['step']}-{data['retry']}", text))
        return updates

    def _title(self, event: SessionEvent) -> Sequence[Update]:
        info = {"title": event.data["title"], "updatedAt": iso_utc(event.time)}
        return ({"sessionUpdate": "session_info_update", **info},)

    def _command(self, event: SessionEvent) -> Sequence[Update]:
        if event.type == "command/done":
            text = event.data.get("text")
            return (TextUpdate(MESSAGE, f"c{event.seq}", text),) if isinstance(text, str) and text else NOTHING
        words = [f"/{event.data['name']}", str(event.data.get("args", ""))]
        return (TextUpdate(USER, f"c{event.seq}", " ".join(filter(None, words))),) if self._echo_user else NOTHING
