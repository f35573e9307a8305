"""Going back to an earlier message over real pipes, files included (docs/protocol.md, clauses UN-01 to UN-05)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import live, load, log_of, merged, said
from tests.e2e.stage import Stage
from tests.e2e.test_crash_sessions import cut_after
from tests.e2e.test_tools import Play, bash, call, write
from tests.support.llm_script import text_of
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj, Update

METHOD = "_acp_server/session/undo"


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    with MockLlm() as mock:
        played = Play(stage, mock)
        played.mode("auto")
        yield played


def edit(path: str, old: str, new: str) -> Obj:
    return call("edit", path=path, old_string=old, new_string=new)


def turn(play: Play, words: str, *answers: Obj) -> None:
    play.script(*answers, {"text": f"Did {words}."})
    play.client.prompt(play.session, words)


def command(play: Play, words: str) -> str:
    """Send a slash command; return what the person is told."""
    _, span = play.client.prompt(play.session, words)
    return play.client.said(span)


def undo(play: Play, **params: object) -> Obj:
    return play.client.result(METHOD, {"sessionId": play.session, **params})


def asked(play: Play) -> list[str]:
    """Return what the person and the agent said, as the last request to the model has it."""
    messages = play.mock.asked[-1].messages
    return [text_of(m["content"]) for m in messages if m.get("role") in ("user", "assistant") and m.get("content")]


def shown(updates: list[Update]) -> str:
    return said(updates, "user_message_chunk") + "|" + said(updates)


def stored(play: Play) -> list[SessionEvent]:
    entries = scan_log(log_of(play.stage, play.session).read_bytes(), "zstd").entries
    return [entry for entry in entries if isinstance(entry, SessionEvent)]


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode) for path in files}


def test_files_and_messages_go_back_and_come_again(play: Play) -> None:
    project = play.stage.project
    (project / "a.sh").write_text("one\n")
    (project / "a.sh").chmod(0o750)
    turn(play, "first", call("read", path="a.sh"))
    before = tree(project)
    turn(play, "second", edit("a.sh", "one", "two"), write("new/b.txt", "b\n"))
    turn(play, "third", edit("a.sh", "two", "three"))
    after = tree(project)

    preview = command(play, "/undo 2")
    assert "2 message(s) would be taken back:\n- second\n- third\n" in preview
    assert f"- `{project}/a.sh` goes back to what it was\n- `{project}/new/b.txt` is deleted" in preview
    assert "`/undo 2 go` does it." in preview
    assert tree(project) == after
    assert "2 message(s) were taken back." in command(play, "/undo 2 go")
    assert tree(project) == before

    assert "2 message(s) were brought back." in command(play, "/undo back go")
    assert tree(project) == after
    turn(play, "fourth")
    assert asked(play)[0:1] == ["first"]
    assert [words for words in asked(play) if words in ("first", "second", "third", "fourth")] == [
        "first",
        "second",
        "third",
        "fourth",
    ]


def test_the_model_and_a_loaded_editor_see_what_is_left(play: Play) -> None:
    turn(play, "first")
    turn(play, "second", call("todo", todos=[{"content": "x", "status": "pending"}]), write("b.txt"))
    assert command(play, "/undo go").startswith("1 message(s) were taken back.")
    plans = [u.fields["entries"] for u in live(play.client, play.session) if u.kind == "plan"]
    assert plans[-1] == []
    turn(play, "third")
    assert [words for words in asked(play) if words in ("first", "second", "third")] == ["first", "third"]
    play.restart()
    replay = load(play.client, play.session, play.stage.project)
    told = shown(replay)
    assert "second" not in told.split("|")[0]
    assert "Did second." not in told
    assert told.startswith("first/undo gothird|")
    assert [u for u in replay if str(u.kind).startswith("tool_call")] == []
    again = load(play.client, play.session, play.stage.project)
    assert merged(again, users=True) == merged(replay, users=True)


def test_what_the_person_changed_is_never_written_over(play: Play) -> None:
    project = play.stage.project
    turn(play, "make", write("a.txt", "a\n"), write("b.txt", "b\n"))
    (project / "a.txt").write_text("mine\n")
    before = tree(project)
    preview = command(play, "/undo")
    assert f"- `{project}/a.txt`: it was changed since, by you or a command" in preview
    assert "`/undo messages go` leaves all files as they are." in preview
    assert "Nothing was changed, because of" in command(play, "/undo go")
    refused = undo(play, apply=True)
    assert (refused["applied"], [one["path"] for one in refused["conflicts"]]) == (False, [f"{project}/a.txt"])
    assert tree(project) == before
    assert command(play, "/undo messages go").startswith("1 message(s) were taken back.")
    assert tree(project) == before
    turn(play, "next")
    assert "make" not in asked(play)


def test_the_method_shows_and_does_the_same(play: Play) -> None:
    project = play.stage.project
    turn(play, "make", write("a.txt", "a\n"), bash("true"))
    proposed = undo(play)
    (message,) = proposed["messages"]
    files = [{"path": f"{project}/a.txt", "change": "delete"}]
    assert proposed == {
        "applied": False,
        "kind": "undo",
        "messages": [{"messageId": message["messageId"], "text": "make"}],
        "files": files,
        "conflicts": [],
        "notUndone": [{"tool": "bash", "calls": 1}],
    }
    assert undo(play, messageId=message["messageId"], apply=True) == {**proposed, "applied": True}
    assert not (project / "a.txt").exists()
    redone = undo(play, redo=True, apply=True)
    assert (redone["applied"], redone["kind"], redone["messages"]) == (True, "redo", proposed["messages"])
    assert (project / "a.txt").read_text() == "a\n"
    for wrong in ({"back": 0}, {"apply": 1}, {"messageId": 5}):
        assert play.client.error(METHOD, {"sessionId": play.session, **wrong})["code"] == -32602
    assert play.client.error(METHOD, {"sessionId": play.session, "back": 9})["code"] == -32600


def test_a_running_turn_is_not_undone(play: Play) -> None:
    turn(play, "first")
    play.script({"text": "One", "hang": True})
    begun = len(play.client.trace.frames)
    ident = play.client.ask(play.session, "second")
    play.client.wait_update("agent_message_chunk", begun)
    assert play.client.error(METHOD, {"sessionId": play.session})["code"] == -32600
    assert "The session is busy" in command(play, "/undo go")
    play.client.notify("session/cancel", {"sessionId": play.session})
    play.client.answer(ident)
    assert [one["text"] for one in undo(play, back=2)["messages"]] == ["first", "second"]


def test_a_server_that_is_killed_in_an_undo_can_go_on_or_back(play: Play) -> None:
    project = play.stage.project
    names = [f"f{n}.txt" for n in range(12)]
    before = tree(project)
    play.script({"calls": [write(name, f"{name}\n") for name in names]}, {"text": "Made."})
    play.client.prompt(play.session, "make")
    after = tree(project)
    assert sorted(after) == sorted(names)
    play.client.ask(play.session, "/undo go")
    assert play.client.trace.wait(lambda: len(tree(project)) < len(names), 30)
    play.client.agent.signal("KILL")
    assert play.client.agent.wait_exit(30) == -9
    play.client = play.stage.client(None, play.mock.environment("openai"))
    play.client.initialize()
    load(play.client, play.session, project)
    command(play, "/undo back go")
    assert tree(project) == after
    assert command(play, "/undo go").startswith("1 message(s) were taken back.")
    assert tree(project) == before
    play.script({"text": "Next."})
    play.mock.on_request = play.client.trace.poke
    play.client.prompt(play.session, "next")
    assert "make" not in asked(play)


def test_an_undo_that_a_crash_cut_off_is_told_on_load(play: Play) -> None:
    project = play.stage.project
    turn(play, "make", write("a.txt", "a\n"))
    command(play, "/undo go")
    assert play.client.agent.end() is None
    changes = [event.seq for event in stored(play) if event.type == "file/change"]
    cut_after(play.stage, play.session, 1 + changes[-1])
    play.client = play.stage.client(None, play.mock.environment("openai"))
    play.mock.on_request = play.client.trace.poke
    play.client.initialize({"session": {"notices": {}}})
    load(play.client, play.session, project)
    assert play.client.trace.wait(lambda: any(u.kind == "notice" for u in live(play.client, play.session)), 30)
    (notice,) = [u.fields["title"] for u in live(play.client, play.session) if u.kind == "notice"]
    assert notice.startswith("An undo was interrupted")
    assert command(play, "/undo go").startswith("1 message(s) were taken back.")
    assert tree(project) == {}
    assert [e.data["done"] for e in stored(play) if e.type == "undo/end"] == [False, True]
