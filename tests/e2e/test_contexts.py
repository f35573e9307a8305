"""What changes around a conversation over real pipes: told when it has changed, and requests keep their beginning."""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime

from tests.e2e.stage import Stage, stop_reason
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

GONE = "This no longer applies."


def sections(message: Obj) -> dict[str, str]:
    """Return the parts of a message that tells of changes, by name; none for any other message."""
    found: dict[str, str] = {}
    for part in text_of(message.get("content")).split("\n\n["):
        name, mark, words = part.removeprefix("[").partition("]\n")
        if mark and name.isidentifier():
            found[name] = words
    return found if message["role"] == "user" else {}


def test_what_has_changed_is_told_in_front_of_the_next_prompt(stage: Stage) -> None:
    project = stage.project
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "AGENTS.md").write_text("Root rules.\n")
    (project / "deep" / "down").mkdir(parents=True)
    (project / "deep" / "AGENTS.md").write_text("Deep rules.\n")
    (project / "deep" / "down" / "a.py").write_text("x = 1\n")
    stage.secrets.append(KEY)
    look: Obj = {"tool": "read", "args": {"path": "deep/down/a.py"}}
    with MockLlm(Script([look, *({"text": f"Answer {n}."} for n in range(9))])) as mock:
        client, session = stage.open(None, mock.environment("openai"))

        def say(words: str, editor: Obj | None = None) -> list[dict[str, str]]:
            """Prompt, and return what was told in each message that is new in the last request."""
            before = len(mock.asked[-1].messages) if mock.asked else 1
            given: Obj = {"sessionId": session, "prompt": [{"type": "text", "text": words}]}
            if editor is not None:
                given["_meta"] = {"acp_server": {"editor": editor}}
            assert stop_reason(client.answer(client.request("session/prompt", given), 60)) == "end_turn"
            return [told for message in mock.asked[-1].messages[before:] if (told := sections(message))]

        opened: Obj = {"files": [{"path": f"{project}/b.py", "unsaved": True}], "active": f"{project}/b.py"}
        first, second = say("One.", opened)
        assert first["git"] == "branch main"
        assert first["editor"].split("\n")[1:] == ["- b.py (in front, unsaved changes)"]
        assert "Root rules." in first["instructions"]
        assert "Deep rules." not in first["instructions"]
        assert list(second) == ["instructions"]
        assert "Deep rules." in second["instructions"]

        assert say("Two.", opened) == []
        assert say("Three.") == []

        (project / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
        (project / ".git" / "MERGE_HEAD").write_text("0123456789abcdef\n")
        assert say("Four.", {"files": []}) == [{"git": "branch topic, a merge is under way", "editor": GONE}]

        (project / "deep" / "down" / "a.py").write_text("x = 2\n")
        (project / "AGENTS.md").write_text("Other rules.\n")
        say("Five.")
        fresh = "\n".join(text_of(message["content"]) for message in mock.asked[-1].messages[-3:])
        assert "deep/down/a.py" in fresh
        assert "Other rules." in fresh

        for one, other in itertools.pairwise(asked.messages for asked in mock.asked):
            assert other[: len(one)] == one


def test_the_day_is_told_where_a_row_asks_for_it(stage: Stage) -> None:
    stage.secrets.append(KEY)
    stage.state.mkdir(exist_ok=True)
    (stage.state / "settings.toml").write_text('[[patch]]\nid = "surroundings"\nconfig = { date = true }\n', "utf-8")
    with MockLlm(Script([{"text": "One."}, {"text": "Two."}])) as mock:
        client, session = stage.open(None, mock.environment("openai"))
        days = [f"{datetime.now(UTC):%Y-%m-%d} (UTC)"]
        for words in ("Good day.", "And now?"):
            assert stop_reason(client.prompt(session, words)[0]) == "end_turn"
        days.append(f"{datetime.now(UTC):%Y-%m-%d} (UTC)")
        told = [parts["date"] for message in mock.asked[-1].messages if (parts := sections(message))]
        assert told in ([days[0]], [days[1]], days)


def test_variables_stand_for_their_values_in_the_system_text(stage: Stage) -> None:
    stage.secrets.append(KEY)
    stage.state.mkdir(exist_ok=True)
    settings, patch = stage.state / "settings.toml", '[[patch]]\nid = "identity"\nconfig = { text = "%s" }\n'
    settings.write_text(patch % "In {{cwd}}, on {{ platform }}; {{ user.name }} and {} stay.", "utf-8")
    with MockLlm(Script([{"text": "One."}, {"text": "Two."}])) as mock:
        client, session = stage.open(None, mock.environment("openai"))
        assert stop_reason(client.prompt(session, "Good day.")[0]) == "end_turn"
        system = text_of(mock.asked[0].messages[0]["content"])
        assert system.startswith(f"In {stage.project}, on {sys.platform}; {{{{ user.name }}}} and {{}} stay.")
        settings.write_text(patch % "In {{cwd}}, for {{person}}.", "utf-8")
        answer, _ = client.prompt(session, "And now?")
        assert answer["error"]["message"] == "The system text names {{person}}; there are: cwd, platform."
        settings.write_text(patch % "In {{cwd}}.", "utf-8")
        assert stop_reason(client.prompt(session, "And now?")[0]) == "end_turn"
