"""Slash commands: what a prompt that begins with `/name` does instead of asking the model.

Only names in the table are commands; any other text, `/usr/bin` for instance, goes to the model. Clauses M-15 to M-19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from acp_server.agent.agent import Agent


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `run` gets the agent and the text after the name, and returns what the person is told."""

    name: str
    description: str
    run: Callable[[Agent, str], str]
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `available_commands_update`."""
        hint = {} if self.hint is None else {"input": {"hint": self.hint}}
        return {"name": self.name, "description": self.description, **hint}


def find_command(prompt: Sequence[Mapping[str, Any]]) -> tuple[Command, str] | None:
    """Return the command that the prompt's first text names, with its arguments, or None."""
    first = next((block.get("text") for block in prompt if block["type"] == "text"), None)
    if not isinstance(first, str) or first[:1] not in ("/", "\\"):
        return None
    name, _, args = first[1:].partition(" ")
    command = COMMANDS.get(name.strip())
    return None if command is None else (command, args.strip())


def _help(agent: Agent, args: str) -> str:  # noqa: ARG001 - one signature for all
    return "\n".join(f"- `/{command.name}`: {command.description}" for command in COMMANDS.values())


def _status(agent: Agent, args: str) -> str:  # noqa: ARG001 - one signature for all
    session = agent.session
    context = session.request_context() or {}
    window = context.get("contextWindow")
    facts = {
        "Session": session.id,
        "Directory": session.header.cwd,
        "Model": f"{agent.config.provider}/{agent.config.model}",
        "Context window": f"{window} tokens" if window is not None else "unknown",
        "Messages the model sees": len(session.messages()),
        "Events in the log": session.seq,
        "Prompts waiting": len(agent.inbox.waiting("next-turn")),
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


COMMANDS: Final[Mapping[str, Command]] = {
    command.name: command
    for command in (
        Command("help", "Shows the commands.", _help),
        Command("status", "Shows this session's model, size and log.", _status),
    )
}
