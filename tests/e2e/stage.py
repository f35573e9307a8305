"""Where an end-to-end test plays: folders, clients of the server, and the judgement that no test has to remember."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support import invariants, launch, schema
from tests.support.client import Answerer, Client, Launch
from tests.support.process import MARK, left_behind
from tests.support.trace import Trace, Turn


class Stage:
    """Folders below `root`, and the clients that were started there."""

    def __init__(self, root: Path) -> None:
        self.root, self.mark = root, uuid.uuid4().hex
        self.project, self.logs = root / "project", root / "logs"
        self.state = root / "state"
        self.clients: list[Client] = []
        self.secrets: list[str] = []
        self.oracle = schema.stable
        for folder in (self.project, self.logs):
            folder.mkdir()

    def environment(self, model: str | None = launch.SCRIPTED, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return launch.environment(self.root, model, {**(more or {}), MARK: self.mark})

    def client(
        self,
        model: str | None = launch.SCRIPTED,
        more: Mapping[str, str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        wrap: Sequence[str] = (),
        answerers: Mapping[str, Answerer] | None = None,
    ) -> Client:
        """Start the server and return its client; `env` is the whole environment, `more` is added to the usual one.

        `wrap` stands before the command.
        """
        logs = self.logs / str(len(self.clients))
        logs.mkdir()
        whole = self.environment(model, more) if env is None else {**env, MARK: self.mark}
        client = Client(Launch((*wrap, *launch.COMMAND, *options), whole, self.root, logs), answerers)
        self.clients.append(client)
        client.start()
        return client

    def open(self, model: str | None = launch.SCRIPTED, more: Mapping[str, str] | None = None) -> tuple[Client, str]:
        """Start the server, shake hands and open a session in the project; return both."""
        client = self.client(model, more)
        client.initialize()
        return client, client.new_session(self.project)

    def judge(self) -> list[str]:
        """End what still runs, then return what is wrong with any of it."""
        wrong: list[str] = []
        for client in self.clients:
            ended = client.agent.end() if client.agent.popen.poll() is None else None
            wrong += [ended] if ended else []
            wrong += invariants.broken(client.trace, self.secrets) + self.oracle().agent_trace(client.trace)
            said = client.agent.stderr().decode("utf-8", "replace")
            wrong += [f"stderr: {said[-600:]}"] if said else []
        return wrong + [f"left running: {words[:100]}" for words in left_behind(self.mark)]

    def close(self) -> None:
        for client in self.clients:
            client.close()


def script(*lines: str) -> str:
    """Return a prompt that the scripted model plays."""
    return "\n".join(("@script", *lines))


def thought(trace: Trace, turn: Turn) -> str:
    return trace.turn_text(turn, "agent_thought_chunk")


def stop_reason(answer: Mapping[str, object]) -> object:
    result = answer.get("result")
    return result.get("stopReason") if isinstance(result, dict) else None
