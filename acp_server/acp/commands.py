"""Slash commands: what a prompt that begins with `/name` does instead of asking the model.

Only names in the table are commands; any other text, `/usr/bin` for instance, goes to the model. Clauses M-15 to M-19.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from acp_server.acp.status import status_words
from acp_server.agent.agent import Agent
from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Ids
from acp_server.base.values import value
from acp_server.messages.blocks import text_of
from acp_server.session.title import normalize_title

Started: TypeAlias = tuple[str, tuple[str, ...]]
"""What the person is told, and the ids of prompts that run."""
CommandSource: TypeAlias = Callable[[str | None], "Sequence[Command]"]
"""Gives the commands that sessions in a directory have beside those of all sessions."""
Job: TypeAlias = Callable[[Agent, str, str, CancelToken], Awaitable[str]]
"""Gets the agent, the text after the name, the command's id, and what ends it; raises ServerError or Cancelled."""


@value
class Command:
    """One command: `run` gets the agent and the text after the name, and returns what the person is told.

    It may also return the ids of prompts that run because of it; the command's own prompt is answered after them.
    """

    name: str
    description: str
    run: Callable[[Agent, str], str | Started]
    hint: str | None = None
    job: Job | None = None
    """What takes time: it runs in the place of `run`, between turns, and returns what the person is told."""
    expand: Callable[[str], str] | None = None
    """What becomes a prompt: it gets the text after the name and returns what a model is asked with it."""

    goes_on: Callable[[str], bool] | None = None
    """Whether, with that text after the name, the prompt goes to the model too once `run` has done its work."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `available_commands_update`."""
        hint = {} if self.hint is None else {"input": {"hint": self.hint}}
        return {"name": self.name, "description": self.description, **hint}


def find_command(prompt: Sequence[Mapping[str, Any]], commands: Sequence[Command]) -> tuple[Command, str] | None:
    """Return the command that the prompt's first text names, with its arguments, or None."""
    first = next((block.get("text") for block in prompt if block["type"] == "text"), None)
    if not isinstance(first, str) or first[:1] not in ("/", "\\"):
        return None
    name, _, args = first[1:].partition(" ")
    command = next((command for command in commands if command.name == name.strip()), None)
    return None if command is None else (command, args.strip())


def unused(_agent: Agent, _args: str) -> str:
    """Stand for `run` where another field does the work."""
    return ""


def expanded(command: Command, args: str, prompt: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the prompt that a command with `expand` stands for: what the person wrote, then what it says.

    Raises:
        ServerError: what `expand` raises.
    """
    if command.expand is None:
        return list(prompt)
    first = next(number for number, block in enumerate(prompt) if block["type"] == "text")
    said = {"type": "text", "text": command.expand(args)}
    return [*prompt[: first + 1], said, *prompt[first + 1 :]]


def run_command(agent: Agent, command: Command, args: str, ids: Ids, settle: Callable[[TurnEnd], None]) -> bool:
    """Run the command; its run and its outcome are in the log, where the presenter finds its text.

    Returns whether turns run because of it; `settle` is called with the end of the last of them, else never.

    Raises:
        ServerError: the log refused.
    """
    command_id = ids.new()
    asked: dict[str, JsonValue] = {"commandId": command_id, "name": command.name, "source": {"kind": "user"}}
    agent.session.append("command/run", {**asked, **({"args": args} if args else {})})
    if command.job is not None:
        return _begin_job(agent, command.job, args, command_id, settle)
    prompts: tuple[str, ...] = ()
    try:
        kind, outcome = "success", command.run(agent, args)
        text, prompts = outcome if isinstance(outcome, tuple) else (outcome, ())
    except ServerError as error:
        kind, text = "error", error.message
    _done(agent, command_id, kind, text)
    if prompts:
        agent.follow(prompts, settle)
    return bool(prompts)


def _begin_job(agent: Agent, job: Job, args: str, command_id: str, settle: Callable[[TurnEnd], None]) -> bool:
    """Begin what takes time; return whether it runs: an agent that is busy answers at once."""

    async def run(cancel: CancelToken) -> None:
        end = COMPLETED
        try:
            kind, text = "success", await job(agent, args, command_id, cancel)
        except Cancelled as cancelled:
            kind, text, end = "cancelled", "Cancelled.", TurnEnd("aborted", cause=cancelled.cause)
        except ServerError as error:
            kind, text = "error", error.message
        try:
            _done(agent, command_id, kind, text)
        finally:
            settle(end)

    try:
        agent.begin_job(run)
    except ServerError as error:
        _done(agent, command_id, "error", error.message)
        return False
    return True


def _done(agent: Agent, command_id: str, kind: str, text: str) -> None:
    agent.session.append("command/done", {"commandId": command_id, "kind": kind, "text": text})


def _help(commands: Sequence[Command]) -> str:
    return "\n".join(f"- `/{command.name}`: {command.description}" for command in commands)


def _rename(agent: Agent, args: str) -> str:
    title = normalize_title(args)
    if not title:
        return "Say the title after the command: `/rename TITLE`."
    agent.rename(title)
    return f"The session is called “{title}”."


def _parked(agent: Agent, args: str) -> str | Started:
    waiting = agent.inbox.parked
    if not waiting:
        return "No prompt waits from before."
    match args:
        case "run":
            return f"{len(waiting)} prompt(s) run.", agent.run_parked()
        case "drop":
            agent.inbox.drop_parked()
            return f"{len(waiting)} prompt(s) dropped."
    lines = [f"- {text_of(message.content, ' ')[:200]}" for message in waiting]
    return "\n".join([*lines, "Send `/parked run` to run them, or `/parked drop` to drop them."])


def commands_of(commands: Sequence[Command], sources: Sequence[CommandSource], cwd: str | None) -> Sequence[Command]:
    """Return the commands of a session in that directory; where two have a name, the earlier one has it."""
    if not sources:
        return commands
    found = {command.name: command for command in commands}
    for source in sources:
        for command in source(cwd):
            found.setdefault(command.name, command)
    return tuple(found.values())


def shipped_commands(known: Callable[[str | None], Sequence[Command]]) -> tuple[Command, ...]:
    """Return the commands that are shipped; `known` gives all of a directory, which is what the help shows."""
    return (
        Command("help", "Shows the commands.", lambda agent, _args: _help(known(agent.session.header.cwd))),
        Command("status", "Shows this session's model, size and log.", status_words),
        Command("rename", "Gives this session a title.", _rename, "title"),
        Command("parked", "Shows, runs or drops prompts that a crash left unanswered.", _parked, "run | drop"),
    )


SHIPPED: Final[tuple[Command, ...]] = shipped_commands(lambda _cwd: SHIPPED)
"""For who composes no others."""
