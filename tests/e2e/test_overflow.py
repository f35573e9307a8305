"""A provider that says "too long" at any moment, over pipes and HTTP: work goes on, or ends with a plain sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.cases.always import model_request
from tests.e2e.simulation import SUMMARISING
from tests.e2e.stage import Stage
from tests.support.client import Client
from tests.support.llm_script import Answer, Asked, Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

WINDOW = 8_000
FACTS = f"context_window = {WINDOW}\nmax_output_tokens = 500\n"
CHARACTERS_A_TOKEN = 4
TOO_LONG = "The conversation is longer than mock can read."
Refuses = Callable[[Asked, int], bool]


@dataclass
class Reader(Script):
    """A model that makes one call in each turn and then says that it is done; `refuses` gets a request's number."""

    refuses: Refuses = lambda _asked, _number: False
    command: str = "seq 1 300"
    number: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def choose(self, asked: Asked) -> Answer:
        self.number += 1
        self.wrong += model_request(asked)
        if self.refuses(asked, self.number) or asked.size // CHARACTERS_A_TOKEN > WINDOW:
            self.refused += 1
            return {"overflow": True}
        if asks_for_summary(asked):
            return {"text": "The person goes through tasks."}
        if asked.messages[-1]["role"] == "user":
            return {"tool": "bash", "args": {"command": f"{self.command} # {self.number}"}}
        return {"text": "Done."}


def asks_for_summary(asked: Asked) -> bool:
    return SUMMARISING in text_of(asked.messages[-1].get("content"))


class Play:
    """A client whose sessions run commands without a question."""

    def __init__(self, stage: Stage, provider: str, facts: str) -> None:
        self.stage, self.model = stage, Reader()
        stage.secrets.append(KEY)
        stage.state.mkdir(exist_ok=True)
        (stage.state / "settings.toml").write_text(f'[models."{provider}/mock"]\n{facts}' if facts else "", "utf-8")
        self.mock = MockLlm(self.model)
        self.client: Client = stage.client(None, self.mock.environment(provider))
        self.client.initialize()
        self.session = ""
        self.begin()

    def begin(self, refuses: Refuses = lambda _asked, _number: False) -> None:
        """Open a session of its own, for which requests are counted from 1."""
        self.session = self.client.new_session(self.stage.project)
        self.client.result("session/set_mode", {"sessionId": self.session, "modeId": "auto"})
        chosen = {"sessionId": self.session, "configId": "preset", "value": "minimal"}
        self.client.result("session/set_config_option", chosen)
        self.model.number, self.model.refused, self.model.refuses = 0, 0, refuses

    def say(self, text: str) -> str:
        """Prompt and return "end_turn", or the plain sentence with which the turn ended."""
        answer, _ = self.client.prompt(self.session, text, 120)
        if "result" in answer:
            return str(answer["result"]["stopReason"])
        error: Obj = answer["error"]
        assert error["code"] == -32603
        assert error["message"][-1] == "."
        return str(error["message"])


@pytest.fixture(params=["openai", "openai-responses", "anthropic"])
def any_play(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Play]:
    yield from played(stage, request.param, FACTS)


@pytest.fixture(params=[FACTS, ""], ids=["window known", "window unknown"])
def play(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Play]:
    yield from played(stage, "openai", request.param)


def played(stage: Stage, provider: str, facts: str) -> Iterator[Play]:
    made = Play(stage, provider, facts)
    yield made
    made.mock.close()
    assert made.model.wrong == []


def healed(play: Play, *, prompts: int = 3) -> list[str]:
    """Say some things; each ends well or with a sentence about the length, and the next one works."""
    ends = [play.say(f"Task {number}, please. " + "Some more words. " * 20) for number in range(prompts)]
    assert all(end == "end_turn" or TOO_LONG in end for end in ends), ends
    assert play.say("And now?") == "end_turn"
    return ends


def test_one_refusal_at_any_request(any_play: Play) -> None:
    for at in range(1, 8):
        any_play.begin(lambda _asked, number, at=at: number == at)  # type: ignore[misc]  # the default binds the round
        ends = healed(any_play)
        assert any_play.model.refused == 1
        assert ends.count("end_turn") >= 2


def test_refusals_in_a_row(play: Play) -> None:
    for length in (2, 3, 5):
        play.begin(lambda _asked, number, length=length: 4 <= number < 4 + length)  # type: ignore[misc]  # likewise
        healed(play)


def test_the_request_for_a_summary_is_refused_too(play: Play) -> None:
    play.begin(lambda asked, number: number == 5 or asks_for_summary(asked))
    healed(play)
    assert play.model.refused > 1
    play.begin(lambda asked, _number: asks_for_summary(asked))
    for number in range(8):
        assert play.say(f"Task {number}, please.") == "end_turn"


def test_one_result_is_larger_than_the_window(play: Play) -> None:
    play.model.command = "seq 1 20000"
    assert play.say("Task, please.") == "end_turn"
    play.model.command = "seq 1 3"
    assert [play.say("Task again, please."), play.say("And now?")] == ["end_turn", "end_turn"]


def test_a_prompt_is_larger_than_the_window(play: Play) -> None:
    assert play.say("Task one, please.") == "end_turn"
    assert TOO_LONG in play.say("word " * 40_000)
    assert play.say("And now?") == "end_turn"
    play.begin()
    assert TOO_LONG in play.say("word " * 40_000)
    assert play.say("And now?") == "end_turn"
