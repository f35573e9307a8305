"""Session events into session updates: one fold, used live and on load (docs/protocol.md, clauses U-01 to U-15).

Pure: takes events in order, returns updates. Live user messages are not echoed; everything else is the same both
ways. Chunks are shown as they come; a finished block is shown only when no chunk of it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from acp_server.acp.compactions import Compactions
from acp_server.acp.modes import mode_update
from acp_server.acp.picture_updates import named
from acp_server.acp.plan import plan_at_end, plan_update
from acp_server.acp.times import iso_utc
from acp_server.acp.tool_cards import ToolCards
from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.prices import CURRENCY
from acp_server.session.events import APPEND, SessionEvent
from acp_server.session.undo import RESTORES
from acp_server.session.usage import CONTEXT, SPENDING_TYPES, UsageProjection, total_cost
from acp_server.tools.job_notices import JOBS

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
_SPENDING: Final = UsageProjection()


class Presenter:
    """The fold's state for one session."""

    def __init__(self, *, compactions: bool = False) -> None:
        self._echo_user = True
        self._compactions = Compactions(offered=compactions)
        self._used = 0
        self._shown: set[int] = set()
        """Indexes of blocks of the running attempt of which something was shown."""
        self.cards = ToolCards()
        self._plan: Mapping[str, Any] | None = None
        """The plan as the running turn wrote it."""
        self._window: int | None = None
        self._spent: JsonValue = _SPENDING.initial()
        self._ways: Mapping[str, Callable[[SessionEvent], Sequence[Update]]] = {
            "assistant/message": self._message,
            "tool/call": lambda event: self.cards.started(event.data),
            "tool/result": self._tool_result,
            "approval/asked": self._asked,
            "approval/decided": lambda event: self.cards.decided(event.data),
            "user/message": self._user,
            "session/title": self._title,
            "command/run": self._command,
            "command/done": self._command,
            "llm/retry": self._retry,
            "request/context": self._context,
            "step/start": self._step_start,
            "step/end": lambda event: self._filled(event.data.get("contextTokens")),
            "compaction/start": self._compaction,
            "compaction/end": self._compaction,
            "compaction/summary": self._compactions.summarised,
            "compaction/prune": self._compactions.cut,
            "turn/end": self._turn_end,
            "todo/write": self._todo,
            "undo/end": self._undone,
            "permission/preset": lambda event: (mode_update(event.data),),
        }

    def go_live(self, *, draws_terminals: bool = False) -> None:
        """From here on the person sees prompts as they are typed: echo none (clause P-16)."""
        self._echo_user = False
        self.cards.live, self.cards.draws_terminals = True, draws_terminals

    def present(self, event: SessionEvent) -> Sequence[Update]:
        """Return the updates that the event gives rise to, in order."""
        kind = event.type
        if kind == "assistant/chunk":
            return self._chunk(event.data)
        if kind in SPENDING_TYPES and (kind == CONTEXT or "usage" in event.data):
            self._spent = _SPENDING.apply(self._spent, event)
        way = self._ways.get(kind)
        return NOTHING if way is None else way(event)

    def _tool_result(self, event: SessionEvent) -> Sequence[Update]:
        is_first = event.surface_op == APPEND and RESTORES not in event.data
        return self.cards.ended(event.data) if is_first else NOTHING

    def _asked(self, event: SessionEvent) -> Sequence[Update]:
        self.cards.asked(event.data)
        return NOTHING

    def _context(self, event: SessionEvent) -> Sequence[Update]:
        window = event.data.get("contextWindow")
        self._window = window if isinstance(window, int) else None
        return NOTHING

    def _step_start(self, event: SessionEvent) -> Sequence[Update]:
        self._shown.clear()
        return self._cuts(event)

    def _todo(self, event: SessionEvent) -> Sequence[Update]:
        self._plan = event.data
        return (plan_update(event.data),)

    def _turn_end(self, event: SessionEvent) -> Sequence[Update]:
        reason: Any = event.data["reason"]
        if self._plan is None and reason["kind"] != "blocked":
            return self.cards.close_all("cancelled")
        plan, self._plan = plan_at_end(self._plan, reason["kind"]), None
        why = reason.get("message") if reason["kind"] == "blocked" else None
        told = self._text({"turn": event.data["turn"], "step": 0}, MESSAGE, 0, why) if isinstance(why, str) else NOTHING
        return [*self.cards.close_all("cancelled"), *(() if plan is None else (plan,)), *told]

    def _undone(self, event: SessionEvent) -> Sequence[Update]:
        """Show the plan and the size that hold once messages were taken back, or brought back."""
        todos = event.data.get("todos")
        data = None if todos is None else {"todos": todos}
        plan = () if data is None else (plan_at_end(data, "undone") or plan_update(data),)
        return [*plan, *self._filled(event.data.get("contextTokens"))]

    def _chunk(self, data: Mapping[str, Any]) -> Sequence[Update]:
        chunk = data["chunk"]
        kind = chunk["type"]
        if kind == "text-delta":
            return self._text(data, MESSAGE, chunk["index"], chunk["text"])
        if kind == "reasoning-delta":
            return self._text(data, THOUGHT, chunk["index"], chunk["text"])
        if kind == "tool-call-delta":
            announced = self.cards.named(data, chunk["id"], chunk.get("name"))
            return [*announced, *self.cards.argued(chunk["id"], chunk["argumentsDelta"])]
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
        if event.surface_op != APPEND or RESTORES in event.data:
            return NOTHING
        updates: list[Update] = []
        message: Any = event.data["message"]
        for index, block in enumerate(message["content"]):
            if block["type"] == "tool-call" or (event.source_event_seqs is None and index not in self._shown):
                updates += self._block(event.data, index, block)
        self._shown.clear()
        return [*updates, *self._usage(event.data.get("usage"))]

    def _usage(self, usage: Any) -> Sequence[Update]:
        if not isinstance(usage, Mapping) or self._window is None:
            return NOTHING
        keys = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
        return self._filled(sum(usage.get(key) or 0 for key in keys))

    def _filled(self, used: Any) -> Sequence[Update]:
        """Tell how full the window is."""
        if not isinstance(used, int) or self._window is None:
            return NOTHING
        self._used = used
        amount = total_cost(self._spent)
        cost = {} if amount is None else {"cost": {"amount": amount, "currency": CURRENCY}}
        return ({"sessionUpdate": "usage_update", "used": used, "size": self._window, **cost},)

    def _compaction(self, event: SessionEvent) -> Sequence[Update]:
        updates: list[Update] = [*self._compactions.updates(event)]
        if event.type == "compaction/end":
            told = self._compactions.thought(event.data)
            updates += [] if told is None else [TextUpdate(THOUGHT, f"k{event.seq}", told)]
            updates += self._filled(event.data.get("tokensAfter"))
        return updates

    def _cuts(self, event: SessionEvent) -> Sequence[Update]:
        """Tell what was cut before this step, unless a summary took its place."""
        count, saved = self._compactions.cuts()
        if not count:
            return NOTHING
        words = (
            f"{count} old result{'s' if count > 1 else ''} of tools were cut to make room: about {saved:,} tokens.\n"
        )
        return [TextUpdate(THOUGHT, f"k{event.seq}", words), *self._filled(max(0, self._used - saved))]

    def _user(self, event: SessionEvent) -> Sequence[Update]:
        message: Any = event.data
        if RESTORES in message:
            return NOTHING
        if message["source"].get("plugin") == JOBS and event.surface_op == APPEND:
            return [TextUpdate(THOUGHT, message["id"], f"{block['text']}\n") for block in message["content"]]
        if not self._echo_user or event.surface_op != APPEND or message["source"]["kind"] != "user":
            return NOTHING
        updates: list[Update] = []
        for block in message["content"]:
            if block["type"] == "text":
                updates.append(TextUpdate(USER, message["id"], block["text"]))
            elif block["type"] == "image":
                updates.append({"sessionUpdate": USER, "content": named(block), "messageId": message["id"]})
        return updates

    def _retry(self, event: SessionEvent) -> Sequence[Update]:
        data: Mapping[str, Any] = event.data
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
