"""`/undo` and `_acp_server/session/undo`: going back to an earlier message, shown first, done when the person says so.

Owns the words and the JSON of it (docs/protocol.md, clauses UN-01 to UN-05).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.acp.params import Params
from acp_server.acp.rendering import brief, shown_line
from acp_server.agent.agent import Agent
from acp_server.agent.undo import Order, Outcome, Proposal
from acp_server.base.cancel import CancelToken
from acp_server.base.values import value
from acp_server.session.file_undo import Step

HINT: Final = "[N] [messages] [go] | back [messages] [go]"
_LISTED: Final = 10
_FILES: Final = 100
_MOST_BACK: Final = 99_999
_DIGITS: Final = 6
_WHAT: Final = {"restore": "goes back to what it was", "delete": "is deleted", "create": "is made again"}
_DONE: Final = {"restore": "is what it was before", "delete": "is deleted", "create": "is there again"}


@value
class Asked:
    """An order, and whether it is to be carried out or only shown."""

    order: Order
    go: bool


async def undo(agent: Agent, args: str, command_id: str, cancel: CancelToken) -> str:
    """Do what the text behind `/undo` says; return what the person is told. Raise ServerError, Cancelled."""
    asked = read_words(args)
    if asked is None:
        return f"Say `/undo` alone, or with: {HINT}."
    if asked.go:
        outcome = await agent.undo().carry_out(asked.order, _order_seq(agent, command_id), cancel)
        return outcome_words(outcome)
    desk = agent.undo()
    proposal = await desk.propose(asked.order, cancel)
    words = preview_words(proposal, args.strip())
    choices = desk.choices() if not args.strip() else ()
    if len(choices) > 1:
        earlier = [f"- `/undo {n}`: {_line(one.text)}" for n, one in enumerate(choices[1:_LISTED], 2)]
        words = "\n".join([words, "", "Further back:", *earlier])
    return words


def read_words(args: str) -> Asked | None:
    """Return what the words behind `/undo` ask for, None for what is not understood."""
    words = args.split()
    go = words[-1:] == ["go"]
    words = words[:-1] if go else words
    files = words[-1:] != ["messages"]
    words = words if files else words[:-1]
    match words:
        case []:
            return Asked(Order(files=files), go)
        case ["back"]:
            return Asked(Order(redo=True, files=files), go)
        case [number] if number.isascii() and number.isdigit() and len(number) < _DIGITS and int(number):
            return Asked(Order(back=int(number), files=files), go)
    return None


def read_params(given: Params) -> Asked:
    """Return what the params of `_acp_server/session/undo` ask for; raise RpcError -32602 naming the field."""
    back, message_id = given.get("back", 1), given.get("messageId")
    if not isinstance(back, int) or isinstance(back, bool) or not 0 < back <= _MOST_BACK:
        raise invalid("back", "must be a whole number from 1")
    if message_id is not None and not isinstance(message_id, str):
        raise invalid("messageId", "must be a string")
    flags = {name: given.get(name, default) for name, default in (("redo", False), ("files", True), ("apply", False))}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise invalid(name, "must be true or false")
    return Asked(Order(flags["redo"], back, message_id, flags["files"]), flags["apply"])


async def undo_result(agent: Agent, asked: Asked, cancel: CancelToken) -> dict[str, Any]:
    """Return the result of `_acp_server/session/undo`. Raise ServerError, Cancelled."""
    desk = agent.undo()
    proposal, outcome = await desk.propose(asked.order, cancel), None
    if asked.go and not proposal.plan.conflicts:
        outcome = await desk.carry_out(asked.order, None, cancel)
        proposal = outcome.proposal
    result: dict[str, Any] = {
        "applied": outcome is not None and outcome.error is None,
        "kind": proposal.kind,
        "messages": [{"messageId": ident, "text": text} for ident, text in proposal.messages],
        "files": [{"path": step.path, "change": step.verb} for step in proposal.plan.steps],
        "conflicts": [{"path": one.path, "reason": one.reason} for one in proposal.plan.conflicts],
        "notUndone": [{"tool": name, "calls": calls} for name, calls in proposal.others],
    }
    if outcome is not None and outcome.error is not None:
        result |= {"error": outcome.error, "changed": [step.path for step in outcome.changed]}
    return result


def preview_words(proposal: Proposal, args: str) -> str:
    """Return what the person is told before anything happens; `args` are the words that asked for it."""
    count = len(proposal.messages)
    goes = "taken back" if proposal.kind == "undo" else "brought back"
    lines = [f"{count} message(s) would be {goes}:" if count else "No message would change."]
    lines += [f"- {_line(text)}" for _, text in proposal.messages[:_LISTED]]
    lines += _files(proposal.plan.steps, "These files would change:", _WHAT)
    lines += _others(proposal.others)
    conflicts = proposal.plan.conflicts
    again = f"/undo {args}".strip()
    if conflicts:
        lines += ["", "It is refused, since these files would lose something:"]
        lines += [f"- `{shown_line(one.path)}`: {one.reason}" for one in conflicts[:_FILES]]
        return "\n".join([*lines, "", f"`{again} messages go` leaves all files as they are."])
    return "\n".join([*lines, "", f"Nothing has changed yet. `{again} go` does it."])


def outcome_words(outcome: Outcome) -> str:
    """Return what the person is told afterwards."""
    proposal, count = outcome.proposal, len(outcome.proposal.messages)
    if outcome.error is not None:
        lines = [f"It was not done, and no message was changed: {shown_line(outcome.error)}"]
        lines += _files(outcome.changed, "These files had changed before:", _DONE)
        if outcome.changed:
            lines += ["", "`/undo back go` takes that back as well; saying the same again goes on with it."]
        return "\n".join(lines)
    goes = "taken back" if proposal.kind == "undo" else "brought back"
    lines = [f"{count} message(s) were {goes}." if count else "No message was changed."]
    lines += _files(outcome.changed, "Files:", _DONE) + _others(proposal.others)
    if proposal.kind == "undo":
        lines += ["", "The model does not see them any more. `/undo back go` brings them back, files included."]
    return "\n".join(lines)


def _files(steps: Sequence[Step], head: str, words: Mapping[str, str]) -> list[str]:
    if not steps:
        return []
    rest = [f"- and {len(steps) - _FILES} more"] if len(steps) > _FILES else []
    return ["", head, *(f"- `{shown_line(step.path)}` {words[step.verb]}" for step in steps[:_FILES]), *rest]


def _others(others: Sequence[tuple[str, int]]) -> list[str]:
    if not others:
        return []
    calls = ", ".join(f"`{shown_line(name)}` ({count})" for name, count in others)
    return ["", f"Not undone, whatever they changed: calls of {calls}."]


def _line(text: str) -> str:
    return brief(text) or "(no text)"


def _order_seq(agent: Agent, command_id: str) -> int | None:
    for event in agent.session.events.of_types(("command/run",)):
        if event.data["commandId"] == command_id:
            return event.seq
    return None
