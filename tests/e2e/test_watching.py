"""The model hears of files that the person has changed (docs/others.md, clauses W-1 to W-4)."""

from __future__ import annotations

from typing import Any

from tests.e2e.sessions import load, restarted
from tests.e2e.stage import Stage, script
from tests.e2e.test_subagents import logged

READ = 'call read {"path": "a.txt"}'
WRITE = 'call write {"path": "a.txt", "content": "mine\\n"}'
TOUCH = 'call bash {"command": "echo more >> a.txt"}'


def told(stage: Stage, session: str) -> list[str]:
    messages: list[Any] = [event.data for event in logged(stage, session) if event.type == "user/message"]
    changes = [message for message in messages if message["source"].get("plugin") == "acp-server/changes"]
    return [str(message["content"][0]["text"]) for message in changes]


def test_a_file_that_the_person_changed_is_told_once_also_after_a_load(stage: Stage) -> None:
    path = stage.project / "a.txt"
    path.write_text("one\n")
    client, session = stage.open()
    client.prompt(session, script(READ, "step", "say read"))
    client.prompt(session, script("say nothing changed"))
    assert told(stage, session) == []
    path.write_text("two\n")
    client.prompt(session, script("say changed"))
    client.prompt(session, script("say still"))
    words = (
        "These files are no longer what you saw, and no call of yours has changed them:\n"
        f"- {path}\nRead them again before you rely on them or change them."
    )
    assert told(stage, session) == [words]
    client.prompt(session, script(READ, "step", "say read again"))
    client = restarted(stage)
    path.unlink()
    load(client, session, stage.project)
    client.prompt(session, script("say loaded"))
    assert told(stage, session) == [words, words.replace(str(path), f"{path} (gone)")]


def test_what_the_model_changed_itself_and_what_was_only_touched_is_not_told(stage: Stage) -> None:
    path = stage.project / "a.txt"
    path.write_text("one\n")
    client, session = stage.open()
    client.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
    client.prompt(session, script(READ, "step", WRITE, "step", TOUCH, "step", "say done"))
    client.prompt(session, script("say quiet"))
    assert path.read_text() == "mine\nmore\n"
    client.prompt(session, script(READ, "step", "say read"))
    path.touch()
    client.prompt(session, script("say quiet"))
    assert told(stage, session) == []
