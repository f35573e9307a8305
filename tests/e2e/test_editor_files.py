"""Files of the editor over real pipes (docs/protocol.md, clauses F-01 to F-10; docs/tools.md, clauses B-1 to B-7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.e2e.test_tools import Play, call, choosing, shown, silent
from tests.support.client import METHOD_NOT_FOUND, Answerer
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
EDIT = call("edit", path="a.txt", old_string="typed", new_string="changed")


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    (stage.project / "a.txt").write_text("old\n")
    with MockLlm() as mock:
        made = Play(stage, mock)
        made.mode("auto")
        yield made


def offer(play: Play, read: object = True, write: object = True) -> None:
    play.client.initialize({"fs": {"readTextFile": read, "writeTextFile": write}})


def asked(play: Play, method: str) -> list[Obj]:
    return [question["params"] for question in play.client.questions if question["method"] == method]


def answering(body: Obj) -> Answerer:
    return lambda _request: body


class Buffer:
    """One open file of an editor that has unsaved text; `write` says how a write is answered."""

    def __init__(self, play: Play, text: str = "typed\n", write: Obj | None = None) -> None:
        self.text, self.body = text, {"result": {}} if write is None else write
        play.client.answerers |= {READ: self.read, WRITE: self.write}

    def read(self, request: Obj) -> Obj:
        mine = request["params"]["path"].endswith("a.txt")
        return {"result": {"content": self.text}} if mine else {"error": {"code": -32002, "message": "no such file"}}

    def write(self, request: Obj) -> Obj:
        if self.body == {"result": {}} or self.body == {"result": None}:
            self.text = request["params"]["content"]
        return self.body


def test_unsaved_text_is_read_and_changed_in_the_editor(play: Play) -> None:
    offer(play)
    buffer = Buffer(play)
    stopped, (read, edit) = play.run(call("read", path="a.txt"), EDIT)
    path = str(play.stage.project / "a.txt")
    assert (stopped, read.status, edit.status, buffer.text) == ("end_turn", "completed", "completed", "changed\n")
    assert asked(play, WRITE) == [{"sessionId": play.session, "path": path, "content": "changed\n"}]
    assert asked(play, READ)[0] == {"sessionId": play.session, "path": path}
    assert edit.fields["content"][0] == {"type": "diff", "path": path, "oldText": "typed\n", "newText": "changed\n"}
    assert "typed" in play.results()[0]
    assert (play.stage.project / "a.txt").read_text() == "old\n"


def test_a_write_in_the_editor_is_asked_like_any_other(play: Play) -> None:
    offer(play)
    play.mode("ask")
    buffer = Buffer(play)
    play.person(choosing("reject-once"))
    _, (_, edit) = play.run(call("read", path="a.txt"), EDIT)
    assert (edit.status, buffer.text, asked(play, WRITE)) == ("failed", "typed\n", [])
    play.person(choosing("allow-once"))
    _, (edit,) = play.run(EDIT)
    assert (edit.status, buffer.text) == ("completed", "changed\n")


def test_the_editor_is_asked_for_nothing_outside_without_the_persons_word(play: Play) -> None:
    offer(play)
    buffer = Buffer(play)
    outside = play.stage.root / "outside-a.txt"
    outside.write_text("theirs\n")
    play.person(choosing("reject-once"))
    play.run(call("read", path=str(outside)), call("write", path=str(outside), content="x"))
    assert (asked(play, READ), asked(play, WRITE), buffer.text) == ([], [], "typed\n")
    play.person(choosing("allow-once"))
    play.run(call("read", path=str(outside)))
    assert [params["path"] for params in asked(play, READ)] == [str(outside)]


@pytest.mark.parametrize(("read", "write"), [(True, True), (True, False), (False, True), (None, False), ("yes", 1)])
def test_only_what_is_offered_is_used(play: Play, read: object, write: object) -> None:
    offer(play, read, write)
    buffer = Buffer(play)
    play.run(call("read", path="a.txt"), EDIT, call("write", path="b.txt", content="b\n"))
    assert bool(asked(play, READ)) == (read is True)
    assert bool(asked(play, WRITE)) == (read is True and write is True)
    assert buffer.text == ("changed\n" if read is True and write is True else "typed\n")
    assert (play.stage.project / "b.txt").read_text() == "b\n"


ANSWERS: list[Obj] = [
    {"error": {"code": -32603, "message": "it is locked"}},
    {"result": "it is locked"},
    {"result": {}},
    {"result": None},
    {"result": {"content": None}},
    {"result": {"content": ["old"]}},
    {"result": {"content": ""}},
    {"result": {"content": "\ud800"}},
]


def test_whatever_else_an_editor_answers_the_disk_counts(play: Play) -> None:
    offer(play)
    for number, body in enumerate(ANSWERS):
        name = f"{number}.txt"
        (play.stage.project / name).write_text("old\n")
        play.client.answerers[READ] = answering(body)
        edit = call("edit", path=name, old_string="old", new_string="new")
        stopped, cards = play.run(call("read", path=name), edit, call("read", path="nowhere"), {"text": "ok"})
        assert (stopped, [card.status for card in cards]) == ("end_turn", ["completed", "completed", "failed"]), body
        assert (play.stage.project / name).read_text() == "new\n"


def test_an_editor_is_not_asked_again_for_what_it_lacks(play: Play) -> None:
    offer(play)
    edit = call("edit", path="a.txt", old_string="old", new_string="new")
    _, cards = play.run(call("read", path="a.txt"), edit)
    assert [card.status for card in cards] == ["completed", "completed"]
    assert ((play.stage.project / "a.txt").read_text(), len(asked(play, READ))) == ("new\n", 1)


WRITES: list[Obj] = [
    {"error": {"code": -32603, "message": "it is locked"}},
    {"result": "it is locked"},
    {"result": {"": ""}},
    METHOD_NOT_FOUND,
]


def test_a_write_that_the_editor_does_not_make_is_not_made(play: Play) -> None:
    offer(play)
    for body in WRITES:
        buffer = Buffer(play, write=body)
        stopped, (_, edit) = play.run(call("read", path="a.txt"), EDIT, {"text": "ok"})
        assert (stopped, edit.status) == ("end_turn", "failed"), body
        assert "Ask the person to save it" in shown(edit)
        assert ((play.stage.project / "a.txt").read_text(), buffer.text) == ("old\n", "typed\n")


def test_an_editor_that_writes_and_answers_null(play: Play) -> None:
    offer(play)
    buffer = Buffer(play, write={"result": None})
    _, (_, edit) = play.run(call("read", path="a.txt"), EDIT)
    assert (edit.status, buffer.text) == ("completed", "changed\n")


def test_an_editor_that_never_answers_holds_nothing_up_twice(play: Play) -> None:
    offer(play)
    play.client.answerers[READ] = silent
    reads = [call("read", path="a.txt"), call("read", path="b.txt"), call("read", path="a.txt")]
    stopped, cards = play.run(*reads)
    assert (stopped, [card.status for card in cards]) == ("end_turn", ["completed", "failed", "completed"])
    cancelled = [f.value["params"] for f in play.client.trace.frames if f.value.get("method") == "$/cancel_request"]
    assert [params["requestId"] for params in cancelled] == [question["id"] for question in play.client.questions]


def test_a_turn_is_cancelled_while_the_editor_is_silent(play: Play) -> None:
    offer(play)
    play.client.answerers[READ] = lambda _request: None
    play.script(call("read", path="a.txt"))
    ident = play.client.ask(play.session, "go")
    play.question(0)
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident, 8)) == "cancelled"
    Buffer(play)
    assert play.run(call("read", path="a.txt"))[0] == "end_turn"
    assert "typed" in play.results()[-1]


def test_an_editor_that_dies_leaves_nothing_running(play: Play) -> None:
    offer(play)
    play.client.answerers[READ] = lambda _request: None
    play.script(call("read", path="a.txt"))
    play.client.ask(play.session, "go")
    play.question(0)
    play.client.trace.excuse(1)
    assert play.client.agent.end() is None


def test_paths_are_spelled_as_the_editor_named_the_directory(play: Play) -> None:
    offer(play)
    Buffer(play)
    link = play.stage.root / "link"
    link.symlink_to(play.stage.project)
    session = str(play.client.result("session/new", {"cwd": str(link), "mcpServers": []})["sessionId"])
    play.script(call("read", path="a.txt"))
    play.client.prompt(session, "go")
    assert [params["path"] for params in asked(play, READ)] == [f"{link}/a.txt"]


def test_a_load_asks_the_editor_for_nothing(play: Play) -> None:
    offer(play)
    Buffer(play)
    play.run(call("read", path="a.txt"))
    before = len(asked(play, READ))
    play.client.result("session/load", {"sessionId": play.session, "cwd": str(play.stage.project), "mcpServers": []})
    assert len(asked(play, READ)) == before
