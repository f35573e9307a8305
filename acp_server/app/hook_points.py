"""The person's hook commands at the points of a turn, each run and its outcome in the log (docs/hooks.md)."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from acp_server.agent.hooks import Ask, Decision, Deny, Enter, Reject, Revise, StepPlace
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import TurnEnd
from acp_server.app.hook_commands import run_hook
from acp_server.app.hook_dialect import WATCHING, Hook, Said, said_by
from acp_server.app.session_access import SessionAccess
from acp_server.base.json_value import JsonValue
from acp_server.base.values import replace
from acp_server.messages.blocks import Message, PluginSource, TextBlock, UserSource, text_of
from acp_server.session.events import SessionEvent

PLUGIN: Final = "acp-server/hooks"
MOST_STOPS: Final = 3
"""How often in a row the end of a turn is put off."""
_RESPONSE: Final = 32 * 1024
HooksOf: TypeAlias = Callable[[str | None], Sequence[Hook]]
Place: TypeAlias = StepPlace | CallPlace


class HookPoints:
    """What runs at each point; `tell` tells a session's person a sentence.

    `is_child` says whether a session is a sub-agent's, `begins` whether it has taken no step since it was opened.
    """

    def __init__(
        self,
        hooks_of: HooksOf,
        environment: Mapping[str, str],
        sessions: SessionAccess,
        tell: Callable[[str, str], None],
        *,
        is_child: Callable[[str], bool] = lambda _session_id: False,
        begins: Callable[[str], bool] = lambda _session_id: False,
    ) -> None:
        self._hooks_of = hooks_of
        self._environment = environment
        self._sessions = sessions
        self._tell = tell
        self._is_child = is_child
        self._begins = begins
        self._stops: dict[tuple[str, int], int] = {}

    async def pre_step(self, place: StepPlace, entry: Enter) -> Enter | Reject:
        """Let hooks on a session's first step here and on a prompt add to it, or reject a prompt."""
        added = [*await self._session_start(place)]
        prompts = [message for message in entry.messages if isinstance(message.source, UserSource)]
        if not prompts:
            return Enter((*entry.messages, *added)) if added else entry
        prompt = "\n".join(text_of(message.content) for message in prompts)
        for said in await self._run("UserPromptSubmit", place, None, {"prompt": prompt}):
            if said.answer == "deny":
                return Reject(said.reason)
            if said.context:
                added.append(_message(said.context))
        return Enter((*entry.messages, *added))

    async def _session_start(self, place: StepPlace) -> Sequence[Message]:
        """Let hooks tell the model more when a session takes its first step in this process."""
        if not self._begins(place.session_id) or self._is_child(place.session_id):
            return ()
        source = "startup" if (place.turn, place.step) == (1, 1) else "resume"
        said = await self._run("SessionStart", place, source, {"source": source})
        return [_message(each.context) for each in said if each.context]

    async def pre_tool(self, place: CallPlace, before: Decision) -> Decision | Revise:
        """Let hooks deny a call, have it asked or change its input; what consent says later, none can take back."""
        decision, updated = before, None
        given: dict[str, Any] = {"tool_name": place.call.name, "tool_input": _arguments(place.call.arguments)}
        for said in await self._run("PreToolUse", place, place.call.name, given):
            if said.answer == "deny":
                return Deny(said.reason)
            if said.answer == "ask":
                decision = Ask(said.reason)
            updated = said.updated if said.updated is not None else updated
        if updated is None or isinstance(decision, Deny):
            return decision
        return Revise(json.dumps(updated), decision)

    async def post_tool(self, place: CallPlace, outcome: ToolOutcome) -> ToolOutcome:
        """Let hooks tell the model more about a result."""
        text = text_of(tuple(block for block in outcome.content if isinstance(block, TextBlock)))[:_RESPONSE]
        given = {
            "tool_name": place.call.name,
            "tool_input": _arguments(place.call.arguments),
            "tool_response": {"content": text, "is_error": outcome.error is not None},
        }
        for said in await self._run("PostToolUse", place, place.call.name, given):
            words = [said.reason if said.answer == "deny" else "", said.context]
            added = tuple(TextBlock(f"[A hook of the person's says: {each}]") for each in words if each)
            outcome = replace(outcome, content=(*outcome.content, *added))
        return outcome

    async def turn_stopping(self, place: StepPlace, end: TurnEnd) -> Sequence[Message]:
        """Let hooks have the turn go on, a few times."""
        key = (place.session_id, place.turn)
        count = self._stops.get(key, 0)
        if end.kind != "completed" or count >= MOST_STOPS:
            return ()
        event = "SubagentStop" if self._is_child(place.session_id) else "Stop"
        said = await self._run(event, place, None, {"stop_hook_active": count > 0})
        reasons = [each.reason for each in said if each.answer == "deny"]
        self._stops = {key: count + 1} if reasons else {}
        return [_message(reason) for reason in reasons]

    async def happened(self, session_id: str, event: SessionEvent) -> None:
        """Let hooks hear of a question to the person and of a compaction; what they say is for the person alone."""
        place = self._last_step(session_id)
        if event.type == "compaction/start":
            trigger = "manual" if event.data.get("reason") == "manual" else "auto"
            await self._run("PreCompact", place, trigger, {"trigger": trigger, "custom_instructions": ""})
        else:
            tool = event.data.get("toolName")
            message = "The agent has a question." if tool is None else f"The agent asks whether it may use {tool}."
            await self._run("Notification", place, None, {"message": message})

    def _last_step(self, session_id: str) -> StepPlace:
        """Return the newest step of a session; what happens outside of turns belongs to the one before it."""
        log, turn, step = self._sessions.events(session_id), 1, 1
        for event in () if log is None else log.of_types(("step/start",)):
            turn, step = cast("int", event.data["turn"]), cast("int", event.data["step"])
        return StepPlace(session_id, None, turn, step)

    async def _run(self, event: str, place: Place, tool: str | None, given: dict[str, Any]) -> list[Said]:
        """Run the hooks that fit, in their order, up to one that blocks; return what they say."""
        cwd = self._sessions.cwd(place.session_id)
        found = [hook for hook in self._hooks_of(cwd) if hook.fits(event, tool)]
        said: list[Said] = []
        for hook in found:
            said.append(await self._one(hook, place, cwd or "/", given))
            if said[-1].told:
                self._tell(place.session_id, said[-1].told)
            if said[-1].answer == "deny" and event not in WATCHING:
                break
            if said[-1].updated is not None and "tool_input" in given:
                given["tool_input"] = dict(said[-1].updated)
        return said

    async def _one(self, hook: Hook, place: Place, cwd: str, given: Mapping[str, Any]) -> Said:
        ident, began = uuid.uuid4().hex, time.monotonic()
        call = {"callId": place.call.id} if isinstance(place, CallPlace) else {}
        where: dict[str, JsonValue] = {"turn": place.turn, "step": place.step, **call}
        asked: dict[str, JsonValue] = {"hookId": ident, "event": hook.event, "command": hook.command, **where}
        self._sessions.record("hook/invoked", place.session_id, asked)
        told = {"session_id": place.session_id, "transcript_path": "", "cwd": cwd, "hook_event_name": hook.event}
        outcome = "cancelled"
        code: int | None = None
        said = Said()
        try:
            ran = await run_hook(hook, json.dumps({**told, **given}).encode(), cwd, self._environment)
            said, code = said_by(hook.event, ran), ran.code
            outcome = "failed" if said.failed else {"deny": "blocked", "ask": "asked"}.get(said.answer, "passed")
            if said.failed:
                reason = ran.stderr.strip()[:200]
                self._tell(place.session_id, f"A hook on {hook.event} failed: {reason or f'code {code}'}")
        finally:
            result: dict[str, JsonValue] = {"hookId": ident, "outcome": outcome}
            result["durationMs"] = round(1000 * (time.monotonic() - began))
            result |= {} if code is None else {"exitCode": code}
            result |= {"reason": said.reason} if said.reason else {}
            result |= {"updatedInput": json.dumps(said.updated)} if said.updated is not None else {}
            self._sessions.record("hook/result", place.session_id, result)
        return said


def _message(text: str) -> Message:
    return Message(uuid.uuid4().hex, "user", (TextBlock(text),), PluginSource(PLUGIN, {}))


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
