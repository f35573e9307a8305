"""One case driven by the plain client: its scratch directory, its mock model, and what always holds at the end."""

from __future__ import annotations

from pathlib import Path

from tests.cases import always
from tests.cases.options import Options, traffic
from tests.cases.place import Place
from tests.support.client import Client, Launch, permission
from tests.support.llm_script import Script
from tests.support.mock_llm import MockLlm
from tests.support.process import left_behind
from tests.support.trace import Item, Obj, Trace, Turn

ASK = "session/request_permission"


class CaseClient:
    """A place, a mock and a client for one run of one case; permission questions get options of one kind."""

    def __init__(self, options: Options, script: Script, case: Obj, kind: str, provider: str = "openai") -> None:
        self.options = options
        self.place = Place(case, f"{provider}/mock")
        self.mock = MockLlm(script, options.names.call)
        env = self.place.env(case, self.mock.environment(provider))
        launch = Launch(options.agent, env, self.place.launch, self.place.root / "runner")
        self.client = Client(launch, {ASK: permission(kind)})
        self.mock.on_request = self.trace.poke
        self.session = ""

    @property
    def trace(self) -> Trace:
        return self.client.trace

    @property
    def asked(self) -> int:
        """Return how many permission questions there were."""
        return sum(question["method"] == ASK for question in self.client.questions)

    def start(self) -> None:
        """Start a process and open a session in it; raise BrokenError when that fails."""
        self.client.start()
        self.client.initialize()
        self.session = self.client.new_session(self.place.project)

    def prompt(self, text: str) -> tuple[Obj, Turn]:
        return self.client.prompt(self.session, text)

    def calls(self, turn: Turn) -> list[Item]:
        return self.client.calls(turn)

    def finish(self) -> list[str]:
        """End the agent; return which of the things that always hold do not."""
        ended = self.client.agent.end()
        wrong = [ended] if ended else []
        wrong += always.broken(self.trace, self.mock.asked, self.options)
        wrong += [f"left running: {words[:100]}" for words in left_behind(self.place.mark)]
        return wrong + [f"changed outside the project: {path}" for path in self.place.strayed()]

    def close(self, notes: list[str]) -> None:
        """End what still runs, note the traffic when that was asked for, take the place away unless it is kept."""
        self.client.close()
        self.mock.close()
        left_behind(self.place.mark, 0)
        if self.options.verbose:
            logs: list[Path] = sorted((self.place.root / "runner").glob("stderr*"))
            notes += traffic(self.trace, self.mock.asked, logs)
        if self.options.keep:
            notes.append(f"  kept: {self.place.root}")
        else:
            self.place.remove()
