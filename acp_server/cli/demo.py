"""`acp-server demo`: starts the server as a child, as an editor would, and shows a conversation with it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from acp_server_client import AgentDied, AgentError, Client, Update

PROMPTS: Final = ("Hello! What can you do?", "How do you keep a conversation?")
MODEL: Final = "ACP_SERVER_MODEL"
DEMO_MODEL: Final = "scripted/demo"
DIM, BOLD, PLAIN = "\033[2m", "\033[1m", "\033[0m"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser("demo", help="show a conversation with the server, streamed as an editor gets it")
    parser.add_argument("prompt", nargs="*", help="what to ask, one turn each (default: two questions)")
    parser.add_argument(
        "--model", default=DEMO_MODEL, metavar="PROVIDER/MODEL", help=f"who answers (default: {DEMO_MODEL}, built in)"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the demo; return 0, or 1 after one line on stderr that says what failed."""
    screen = Screen(sys.stdout.isatty(), sys.stdout.write)
    try:
        asyncio.run(_story(given.model, given.prompt or PROMPTS, screen))
    except (AgentError, AgentDied) as error:
        print(f"\nacp-server demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class Screen:
    """Shows updates as they come: thoughts dimmed, answers plain, tool calls and titles in one line each."""

    def __init__(self, colour: bool, write: Callable[[str], object]) -> None:
        self._colour = colour
        self._write = write
        self._kind = ""

    def heading(self, text: str) -> None:
        """Show a line that stands out."""
        self._switch("")
        self._put(f"{BOLD}{text}{PLAIN}\n" if self._colour else f"{text}\n")

    def line(self, text: str) -> None:
        """Show a line of the demo's own."""
        self._switch("")
        self._put(f"{DIM}{text}{PLAIN}\n" if self._colour else f"{text}\n")

    def update(self, update: Update) -> None:
        """Show one `session/update`."""
        match update.kind:
            case "agent_message_chunk" | "agent_thought_chunk":
                self._switch(update.kind)
                text = update.fields["content"].get("text", "")
                dimmed = self._colour and update.kind == "agent_thought_chunk"
                self._put(f"{DIM}{text}{PLAIN}" if dimmed else text)
            case "tool_call":
                self.line(f"[tool] {update.fields.get('title')}")
            case "session_info_update":
                self.line(f"[title] {update.fields.get('title')}")

    def _switch(self, kind: str) -> None:
        if self._kind and self._kind != kind:
            self._put("\n")
        self._kind = kind

    def _put(self, text: str) -> None:
        self._write(text)
        sys.stdout.flush()


async def _story(model: str, prompts: tuple[str, ...] | list[str], screen: Screen) -> None:
    command = [sys.executable, "-m", "acp_server", "acp"]
    environment = {**os.environ, MODEL: model}
    screen.line(f"$ {MODEL}={model} acp-server acp")
    async with Client(command, environment=environment) as client:
        agent = client.agent["agentInfo"]
        screen.line(f"initialize: {agent['title']} {agent['version']}, protocol {client.agent['protocolVersion']}")
        session = await client.new_session(str(Path.cwd()))
        screen.line(f"session/new: {session.id}")
        for text in prompts:
            screen.heading(f"\n> {text}")
            turn = session.prompt(text)
            async for update in turn:
                screen.update(update)
            screen.line(f"session/prompt: {await turn.stop_reason}")
