"""The dialect of hook commands: what one is told, and what its exit code and its output mean (docs/hooks.md). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from acp_server.base.values import value

EVENTS: Final = (
    "SessionStart",
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
)
WATCHING: Final = frozenset({"PreCompact", "Notification"})
"""Events that a command hears of and changes nothing about."""
_PLAIN: Final = frozenset({"UserPromptSubmit", "SessionStart"})
"""Events on which plain output is words for the model."""
SECONDS: Final = 60.0
MOST_SECONDS: Final = 600.0
WORDS: Final = 10_000
"""Characters of a hook's words that anyone reads."""
Answer: TypeAlias = Literal["allow", "deny", "ask", "none"]

_ANSWERS: Final[Mapping[str, Answer]] = {
    "block": "deny",
    "deny": "deny",
    "ask": "ask",
    "approve": "allow",
    "allow": "allow",
}


@value
class Hook:
    """One command on one event; `matcher` covers whole names of tools (or of what else it is about), empty for all."""

    event: str
    command: str
    matcher: str = ""
    seconds: float = SECONDS

    def fits(self, event: str, tool: str | None) -> bool:
        """Return whether it runs on that event, for that tool or what else the event is about."""
        if event != self.event:
            return False
        if tool is None or self.matcher in ("", "*"):
            return True
        try:
            return re.fullmatch(self.matcher, tool, re.IGNORECASE) is not None
        except re.error:
            return True  # what was meant to look at calls looks at too many rather than at none


@value
class Ran:
    """How a command ended: its exit code, None when it was stopped at its limit or could not be started."""

    code: int | None
    stdout: str = ""
    stderr: str = ""


@value
class Said:
    """What a hook says. `reason` goes to the model or the person, `context` to the model, `told` to the person."""

    answer: Answer = "none"
    reason: str = ""
    context: str = ""
    told: str = ""
    failed: bool = False
    updated: Mapping[str, Any] | None = None
    """The input that a call is to have instead."""


def hooks_in(table: Mapping[str, Any]) -> Iterator[Hook]:
    """Iterate over the hooks of a table by event; what is none is passed over."""
    for event in EVENTS:
        for group in _list(table.get(event)):
            matcher = group.get("matcher")
            for each in _list(group.get("hooks")):
                command, seconds = each.get("command"), each.get("timeout")
                if each.get("type", "command") == "command" and isinstance(command, str) and command.strip():
                    limit = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else SECONDS
                    yield Hook(event, command, matcher if isinstance(matcher, str) else "", min(limit, MOST_SECONDS))


def said_by(event: str, ran: Ran) -> Said:
    """Return what a command says by how it ended.

    Code 2 blocks with its stderr as the reason; 0 says what its output does, as JSON or, on a prompt, as plain words;
    every other end is a failure that blocks nothing.
    """
    if ran.code == 2:
        return Said("deny", _cut(ran.stderr) or "a hook said no")
    if ran.code != 0:
        return Said(failed=True)
    output = _json(ran.stdout)
    if output is None:
        return Said(context=_cut(ran.stdout)) if event in _PLAIN else Said()
    return _read(output)


def _read(output: Mapping[str, Any]) -> Said:
    special = output.get("hookSpecificOutput")
    special = special if isinstance(special, Mapping) else {}
    wanted = str(output.get("decision") or special.get("permissionDecision"))
    answer = _ANSWERS.get(wanted, "none")
    reason = _words(special.get("permissionDecisionReason")) or _words(output.get("reason"))
    if output.get("continue") is False:
        answer, reason = "deny", _words(output.get("stopReason")) or reason
    if answer in ("deny", "ask"):
        reason = reason or "a hook said no"
    updated = special.get("updatedInput")
    return Said(
        answer,
        reason,
        _words(special.get("additionalContext")),
        _words(output.get("systemMessage")),
        updated=updated if isinstance(updated, Mapping) and answer != "deny" else None,
    )


def _json(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _list(given: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list | tuple) else []


def _words(given: object) -> str:
    return _cut(given) if isinstance(given, str) else ""


def _cut(text: str) -> str:
    return text.strip()[:WORDS]
