"""Compaction over real pipes: what the person sees of it, live and on load (docs/protocol.md, clauses U-09 to U-13)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.support.llm_script import Answer, Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj, Turn

SETTINGS = '[models."openai/mock"]\ncontext_window = 32000\nmax_output_tokens = 2000\n'
SHOWN: Obj = {"session": {"compaction": {}, "notices": {}}}
PLAIN: Obj = {"session": {}}


class Play:
    """A client that offers `capabilities`, and a model that says one line a prompt."""

    def __init__(self, stage: Stage, mock: MockLlm, capabilities: Obj, settings: str = SETTINGS) -> None:
        stage.secrets.append(KEY)
        stage.state.mkdir(exist_ok=True)
        (stage.state / "settings.toml").write_text(settings, "utf-8")
        self.stage, self.mock = stage, mock
        self.client = stage.client(None, mock.environment("openai"))
        self.client.initialize(capabilities)
        self.session = self.client.new_session(stage.project)

    def say(self, text: str) -> Turn:
        answer, turn = self.client.prompt(self.session, text)
        assert stop_reason(answer) == "end_turn", answer
        return turn

    def updates(self, turn: Turn, kind: str) -> list[dict[str, Any]]:
        found = self.client.trace.turn_updates(turn)
        return [dict(update.fields) for update in found if update.kind == kind]


def words(name: str) -> str:
    return f"{name}: " + "some plain words of a task that is long, and more of them. " * 200


@pytest.fixture
def mock() -> Any:
    with MockLlm(
        Script(keyed=[("Task", [{"text": "Done."}] * 20)], other={"text": "The person works through tasks."})
    ) as made:
        yield made


def test_a_client_that_shows_compactions_gets_them_as_such(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, SHOWN)
    play.say(words("Task one"))
    [before] = play.updates(play.say(words("Task two")), "usage_update")
    turn = play.say("/compact the second task")
    started, ended = play.updates(turn, "compaction_update")
    assert started == {
        "sessionUpdate": "compaction_update",
        "compactionId": started["compactionId"],
        "status": "in_progress",
    }
    assert ended == {
        **started,
        "status": "completed",
        "summary": [{"type": "text", "text": "The person works through tasks."}],
    }
    [usage] = play.updates(turn, "usage_update")
    assert usage["size"] == 32000
    assert usage["used"] < before["used"]
    assert "Compacted 3 messages: about " in play.client.said(turn)
    assert play.updates(turn, "agent_thought_chunk") == []
    loaded = play.client.request(
        "session/load", {"sessionId": play.session, "cwd": str(stage.project), "mcpServers": []}
    )
    play.client.answer(loaded)
    span = play.client.trace.load_span(loaded)
    assert span is not None
    shown = [dict(update.fields) for update in play.client.trace.updates(*span)]
    assert [update for update in shown if update["sessionUpdate"] == "compaction_update"] == [started, ended]


def test_other_clients_read_of_it_in_a_thought_and_see_the_window_empty(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, PLAIN)
    used: list[int] = []
    for number in range(12):
        turn = play.say(words(f"Task {number}"))
        used += [usage["used"] for usage in play.updates(turn, "usage_update")]
        told = "".join(update["content"]["text"] for update in play.updates(turn, "agent_thought_chunk"))
        if told:
            break
    assert told.startswith("The conversation was summarised to make room: about ")
    assert play.updates(turn, "compaction_update") == []
    peak = used.index(max(used))
    assert used[peak + 1] < used[peak] // 2
    status = play.client.said(play.say("/status"))
    assert "of 32,000 tokens used" in status
    assert "compacted from 25,600 on" in status


def test_what_happens_by_itself_is_shown_in_the_turn(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, SHOWN)
    for number in range(12):
        turn = play.say(words(f"Task {number}"))
        if shown := play.updates(turn, "compaction_update"):
            break
    assert [update["status"] for update in shown] == ["in_progress", "completed"]
    kinds = [update.kind for update in play.client.trace.turn_updates(turn)]
    assert kinds.index("usage_update") == kinds.index("compaction_update") + 2
    assert play.updates(turn, "agent_thought_chunk") == []


@pytest.mark.parametrize(("capabilities", "kind"), [(SHOWN, "notice"), (PLAIN, "agent_thought_chunk")])
def test_with_compaction_off_the_person_is_warned_once_and_compacts(
    stage: Stage, mock: MockLlm, capabilities: Obj, kind: str
) -> None:
    play = Play(stage, mock, capabilities, SETTINGS + "[compaction]\nauto = false\n")
    told: list[dict[str, Any]] = []
    size = 0
    for number in range(20):
        turn = play.say(words(f"Task {number}"))
        told += play.updates(turn, kind)
        size = play.updates(turn, "usage_update")[-1]["used"]
        if size > 0.95 * 30_000:
            break
    [warning] = told
    assert "compaction is off: `/compact` makes room" in (warning.get("title") or warning["content"]["text"])
    assert size <= 32_000
    assert play.updates(play.say("/compact"), "usage_update")[-1]["used"] < size


@pytest.mark.parametrize(("capabilities", "kind"), [(SHOWN, "notice"), (PLAIN, "agent_thought_chunk")])
def test_what_was_left_out_without_a_summary_is_told(stage: Stage, mock: MockLlm, capabilities: Obj, kind: str) -> None:
    play = Play(stage, mock, capabilities)
    mock.script.other = {"status": 400, "body": '{"error":{"message":"no such parameter"}}'}
    told = ""
    for number in range(14):
        told += "".join(str(update) for update in play.updates(play.say(words(f"Task {number}")), kind))
    assert "The beginning of the conversation was left out so that it fits the model's window." in told


def test_a_summary_that_fails_is_told_and_nothing_is_lost(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, SHOWN)
    play.say(words("Task one"))
    play.say(words("Task two"))
    mock.script.other = {"status": 400, "body": '{"error":{"message":"no such parameter"}}'}
    turn = play.say("/compact")
    assert [update["status"] for update in play.updates(turn, "compaction_update")] == ["in_progress", "failed"]
    assert "no such parameter" in play.client.said(turn)
    play.say(words("Task three"))
    assert "Task one" in str(mock.asked[-1].messages)


def test_what_is_cut_from_a_result_can_still_be_read(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, PLAIN)
    play.client.result("session/set_mode", {"sessionId": play.session, "modeId": "auto"})
    answers: list[Answer] = []
    for number in range(12):
        command = f"for line in $(seq 350); do echo line $line of the words that task {number} has; done"
        answers += [{"tool": "bash", "args": {"command": command}}, {"text": "Done."}]
    mock.script.keyed = [("Task", answers)]
    results: list[str] = []
    for number in range(12):
        turn = play.say(f"Task {number}")
        results = [str(one["content"]) for one in mock.asked[-1].messages if one["role"] == "tool"]
        if "cut to make room" in results[0]:
            break
    cut = [text for text in results if "cut to make room" in text]
    assert "old results of tools were cut to make room: about" in play.client.trace.turn_text(
        turn, "agent_thought_chunk"
    )
    assert 0 < len(cut) <= len(results) - 2
    paths = [text.split("The whole text is in ")[1].split(", which you can read.")[0] for text in cut]
    assert len(set(paths)) == len(paths)
    mock.script.keyed = [("Read", [{"tool": "read", "args": {"path": paths[0], "offset": 200, "limit": 2}}])]
    play.say("Read what is gone")
    assert "line 201 of the words that task 0 has" in str(mock.asked[-1].messages[-1]["content"])
    assert play.client.questions == []


def test_a_compaction_can_be_cancelled(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock, SHOWN)
    play.say(words("Task one"))
    play.say(words("Task two"))
    mock.script.other = {"text": "The person", "hang": True}
    asked = play.client.ask(play.session, "/compact")
    play.client.wait_update("compaction_update")
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(asked)) == "cancelled"
    turn = play.client.turn(asked)
    assert [update["status"] for update in play.updates(turn, "compaction_update")] == ["in_progress", "cancelled"]
    play.say(words("Task three"))
