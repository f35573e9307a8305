"""Skills, prompt files and trust over real pipes (docs/skills.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.e2e.test_tools import Play, call
from tests.support.llm_script import text_of
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

SKILL = "---\nname: tables\ndescription: Makes tables of figures.\n---\nUse three columns.\n"
PROMPT = "---\ndescription: Reviews a file\nargument-hint: FILE\n---\nReview $1 for mistakes.\n"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def commands(play: Play) -> dict[str, Obj]:
    found = [update for update in play.client.trace.updates(0, 10**9, play.session) if _lists(update.kind)]
    return {command["name"]: command for command in found[-1].fields["availableCommands"]}


def _lists(kind: object) -> bool:
    return kind == "available_commands_update"


def asked(play: Play) -> str:
    """Return everything that the last request told as the person or the server."""
    return "\n".join(text_of(m["content"]) for m in play.mock.asked[-1].messages if m.get("role") == "user")


def test_a_skill_is_listed_read_without_a_question_and_offered_as_a_command(stage: Stage, mock: MockLlm) -> None:
    path = put(stage.state / "skills" / "tables" / "SKILL.md", SKILL)
    put(stage.state / "skills" / "tables" / "more.md", "Sums at the end.\n")
    play = Play(stage, mock)
    _, (first, second) = play.run(
        call("read", path=str(path)), call("read", path=str(path.with_name("more.md"))), {"text": "Done."}
    )
    assert f"- tables: Makes tables of figures. ({path.resolve()})" in asked(play)
    assert (first.fields["status"], second.fields["status"]) == ("completed", "completed")
    assert "Use three columns." in play.results()[0]
    assert "Sums at the end." in play.results()[1]
    assert play.client.questions == []
    assert commands(play)["tables"]["description"] == "Makes tables of figures."
    play.script({"text": "Yes."})
    play.client.prompt(play.session, "/tables of rivers")
    assert "/tables of rivers" in asked(play)
    assert "Use three columns.\n</skill>\nFollow this skill.\n\nof rivers" in asked(play)


def test_a_prompt_file_is_a_command_and_changes_are_shown(stage: Stage, mock: MockLlm) -> None:
    put(stage.state / "prompts" / "review.md", PROMPT)
    play = Play(stage, mock)
    play.script({"text": "Fine."}, {"text": "Fine."})
    play.client.prompt(play.session, "/review a.py")
    assert "Review a.py for mistakes." in asked(play)
    assert commands(play)["review"] == {
        "name": "review",
        "description": "Reviews a file",
        "input": {"hint": "FILE"},
    }
    put(stage.state / "prompts" / "explain.md", "Explain $ARGUMENTS.\n")
    play.client.prompt(play.session, "go on")
    assert "explain" in commands(play)
    _, turn = play.client.prompt(play.session, "/help")
    assert "- `/review`: Reviews a file" in play.client.said(turn)
    assert "- `/explain`: " in play.client.said(turn)


def test_a_workspaces_skills_count_while_their_content_is_trusted(stage: Stage, mock: MockLlm) -> None:
    path = put(stage.project / ".agents" / "skills" / "tables" / "SKILL.md", SKILL)
    play = Play(stage, mock)
    play.run({"text": "One."})
    assert "tables" not in asked(play)
    assert "tables" not in commands(play)
    _, turn = play.client.prompt(play.session, "/trust")
    digits = re.search(r"/trust ([0-9a-f]{12})", play.client.said(turn))
    assert digits is not None
    play.client.prompt(play.session, f"/trust {digits[1]}")
    play.run({"text": "Two."})
    assert "- tables: Makes tables of figures." in asked(play)
    assert "tables" in commands(play)
    put(path, SKILL.replace("three", "four"))
    play.run({"text": "Three."})
    assert "tables" not in commands(play)
    _, turn = play.client.prompt(play.session, f"/trust {digits[1]}")
    assert "are others than that" in play.client.said(turn)
