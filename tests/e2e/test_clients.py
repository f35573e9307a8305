"""The clients that people use, each by its own ways: `clients/NAME.json` says what it sends and how it answers.

Every one plays the same story: it opens a session, has a file read, changed and a command run with its person's yes,
says no, breaks a question off, cancels what is idle, and comes back in a second process. What holds for every trace
(the schema, one answer a request, no stray frame) is judged by the stage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Answerer, Client
from tests.support.trace import Item, Obj

FOLDER = Path(__file__).parent / "clients"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
PERMISSION = "session/request_permission"
NOTES = "first\nsecond\n"
EDIT = 'call edit {"path": "notes.txt", "old_string": "second", "new_string": "changed"}'
READ = 'call read {"path": "notes.txt"}'
WORK = script(READ, "step", EDIT, "step", 'call bash {"command": "touch made"}', "step", "say all done")
CHANGE = script('call write {"path": "other.txt", "content": "no"}', "step", "say as you like")


class Editor:
    """A client that behaves as its file says."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.facts: Obj = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        self.stage = stage
        self.say: Answerer = self.yes
        self.session = ""
        self.methods: list[Obj] = []
        self.buffers: dict[str, str] = {}
        """What the editor holds that is not saved, by path."""
        self.client = self.start()

    def start(self) -> Client:
        env = None
        if self.facts["environment"] == "bare":
            kept = {key: text for key, text in self.stage.environment().items() if key in ("PATH", "PYTHONPATH")}
            env = {**kept, "ACP_SERVER_HOME": str(self.stage.state), "ACP_SERVER_MODEL": "scripted/demo"}
        answerers: dict[str, Answerer] = {PERMISSION: self.answer}
        fs = self.facts["params"]["clientCapabilities"].get("fs", {})
        if fs.get("readTextFile"):
            answerers |= {"fs/read_text_file": self.read, "fs/write_text_file": self.write}
        return self.stage.client(
            env=env, answerers=_Mute(answerers) if self.facts["unknown"] == "silent" else answerers
        )

    # -- what it sends

    def send(self, method: str, params: Obj | None = None) -> int:
        if not self.facts["envelope"]:
            return self.client.request(method, params)
        ident = self.client.request_id()
        line = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params, **self.facts["envelope"]}
        self.client.send_line(json.dumps(line).encode())
        return ident

    def call(self, method: str, params: Obj | None = None) -> Obj:
        answer = self.client.answer(self.send(method, params), 60)
        assert "result" in answer, (method, answer)
        result: Obj = answer["result"]
        return result

    def open(self) -> None:
        """Shake hands, log in and open a session, in this client's order."""
        new = {"cwd": str(self.stage.project), **self.facts["new"]}
        if self.facts["opening"] == "at once":
            first = {"methodId": "provider-key"}
            asked = [("initialize", self.facts["params"]), ("session/new", new), ("authenticate", first)]
            idents = [self.send(method, params) for method, params in asked]
            answers = [self.client.answer(ident)["result"] for ident in idents]
            self.methods, opened = answers[0]["authMethods"], answers[1]
        else:
            self.methods = self.call("initialize", self.facts["params"])["authMethods"]
            self.log_in()
            opened = self.call("session/new", new)
        self.session = opened["sessionId"]
        for later in self.facts["afterNew"]:
            self.call(later["method"], {"sessionId": self.session, **later["params"]})

    def log_in(self) -> None:
        how = self.facts["authenticate"]
        if how is not None:
            extra = {"authMethod": self.methods[0]} if how == "first with extra" else {}
            assert self.call("authenticate", {"methodId": self.methods[0]["id"], **extra}) == {}

    def ask(self, text: str, *more: Obj) -> int:
        prompt = [{"type": "text", "text": text}, *more]
        return self.send("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def turn(self, text: str, *more: Obj) -> object:
        return stop_reason(self.client.answer(self.ask(text, *more), 60))

    def work(self, text: str) -> tuple[object, list[Item]]:
        """Play a turn; return why it stopped and the cards of its calls."""
        ident = self.ask(text)
        return stop_reason(self.client.answer(ident, 60)), self.client.calls(self.client.turn(ident))

    def attachments(self) -> list[Obj]:
        written = json.dumps(self.facts["prompt"]).replace("{project}", str(self.stage.project))
        found: list[Obj] = json.loads(written)
        return found

    # -- how it answers

    def answer(self, request: Obj) -> Obj | None:
        return self.say(request)

    def yes(self, request: Obj) -> Obj:
        options = request["params"]["options"]
        kinds = ("allow_once",) if self.facts["allow"] == "by kind" else ("allow_once", "allow_always")
        return _selected(next(option["optionId"] for option in options if option["kind"] in kinds))

    def no(self, request: Obj) -> Obj:
        match self.facts["reject"]:
            case "without option":
                return {"result": {"outcome": {"outcome": "selected"}}}
            case "cancelled":
                return {"result": {"outcome": {"outcome": "cancelled"}, "reason": "dismissed"}}
            case "unknown option":
                return _selected(str(request["params"]["options"][0]["optionId"])[::-1])
        kinds = {option["kind"]: option["optionId"] for option in request["params"]["options"]}
        return _selected(kinds["reject_once"])

    def read(self, request: Obj) -> Obj:
        path = request["params"]["path"]
        try:
            text = self.buffers[path] if path in self.buffers else Path(path).read_text("utf-8")
        except OSError:
            if self.facts["fs"]["missing"] != "empty":
                return {"error": {"code": -32002, "message": "Resource not found"}}
            text = ""
        return {"result": {"content": text}}

    def write(self, request: Obj) -> Obj:
        written = self.facts["fs"]["written"]
        if written == "failed":
            return {"result": "EACCES: the buffer is locked"}
        self.buffers[request["params"]["path"]] = request["params"]["content"]
        return {"result": written}


class _Mute(dict[str, Answerer]):
    """Leaves every request that has no answerer of its own without any answer."""

    def get(self, key: str, default: Any = None) -> Any:
        found = super().get(key, default)
        return (lambda _request: None) if found is None else found


@pytest.fixture(params=NAMES)
def editor(request: pytest.FixtureRequest, stage: Stage) -> Editor:
    (stage.project / "notes.txt").write_text(NOTES, "utf-8")
    return Editor(stage, request.param)


def test_a_client_works_by_its_own_ways(editor: Editor) -> None:
    editor.open()
    assert editor.turn("Look at what I attach.", *editor.attachments()) == "end_turn"
    assert editor.turn(WORK) == "end_turn"
    project = editor.stage.project
    assert (project / "notes.txt").read_text("utf-8") == "first\nchanged\n"
    assert (project / "made").exists()
    if "fs" in editor.facts["params"]["clientCapabilities"]:
        _changes_what_is_unsaved(editor)

    editor.say = editor.no
    assert editor.turn(CHANGE) == "end_turn"
    assert not (project / "other.txt").exists()

    assert _breaks_a_question_off(editor) == "cancelled"
    editor.client.notify("session/cancel", {"sessionId": editor.session})
    editor.say = editor.yes
    assert editor.turn(script("say still here")) == "end_turn"

    for call in editor.facts["calls"]:
        CALLS[call](editor)


def _changes_what_is_unsaved(editor: Editor) -> None:
    """Change a file that the person has changed in the editor and not saved: it is the editor's text that counts."""
    notes = editor.stage.project / "notes.txt"
    on_disk = notes.read_text("utf-8")
    editor.buffers[str(notes)] = "first\nsecond, unsaved\n"
    answer, calls = editor.work(script(READ, "step", EDIT, "step", "say done"))
    edited = next(call for call in calls if call.fields["kind"] == "edit")
    failed = editor.facts["fs"]["written"] == "failed"
    assert (answer, edited.fields["status"]) == ("end_turn", "failed" if failed else "completed")
    kept = "first\nsecond, unsaved\n" if failed else "first\nchanged, unsaved\n"
    assert (editor.buffers[str(notes)], notes.read_text("utf-8")) == (kept, on_disk)


def _breaks_a_question_off(editor: Editor) -> object:
    """Cancel while a question is open; the client answers it with `cancelled` only then, as the protocol asks."""
    asked: list[Obj] = []

    def never(request: Obj) -> None:
        asked.append(request)

    editor.say = never
    ident = editor.ask(CHANGE)
    editor.client.trace.wait(lambda: asked, 30)
    editor.client.notify("session/cancel", {"sessionId": editor.session})
    cancelled = {"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"outcome": {"outcome": "cancelled"}}}
    editor.client.send_line(json.dumps(cancelled).encode())
    return stop_reason(editor.client.answer(ident))


def _listed(editor: Editor) -> None:
    found = editor.call("session/list", {"cwd": str(editor.stage.project)})["sessions"]
    assert editor.session in [entry["sessionId"] for entry in found]


def _loaded(editor: Editor) -> None:
    _again(editor, "session/load")
    said = editor.client.trace.updates(0, len(editor.client.trace.frames), editor.session)
    assert "all done" in "".join(update.text for update in said if update.kind == "agent_message_chunk")
    assert editor.turn(script("say loaded")) == "end_turn"


def _resumed(editor: Editor) -> None:
    _again(editor, "session/resume")
    assert editor.turn(script("say resumed")) == "end_turn"


def _again(editor: Editor, method: str) -> None:
    editor.client.agent.end()
    editor.client = editor.start()
    editor.call("initialize", editor.facts["params"])
    editor.log_in()
    bogus = {"sessionId": "no-such-session", "cwd": str(editor.stage.project), "mcpServers": []}
    error = editor.client.answer(editor.send(method, bogus))["error"]
    assert "Session not found" in error["data"]["details"]  # what some look for to begin anew
    editor.call(method, {**bogus, "sessionId": editor.session})


def _forked(editor: Editor) -> None:
    answer = editor.client.answer(editor.send("session/fork", {"sessionId": editor.session}))
    assert answer["error"]["code"] == -32601


def _closed(editor: Editor) -> None:
    assert editor.call("session/close", {"sessionId": editor.session}) == {}


def _deleted(editor: Editor) -> None:
    assert editor.call("session/delete", {"sessionId": editor.session}) == {}


def _logged_out(editor: Editor) -> None:
    assert editor.call("logout", {}) == {}
    answer = editor.client.answer(editor.send("session/new", {"cwd": str(editor.stage.project), "mcpServers": []}))
    assert answer["error"]["code"] == -32000
    assert editor.call("authenticate", {"methodId": editor.methods[0]["id"]}) == {}


def _one_request_cancelled(editor: Editor) -> None:
    new = editor.call("session/new", {"cwd": str(editor.stage.project), "mcpServers": []})
    editor.session = new["sessionId"]
    ident = editor.ask(script("say begun", "hang"))
    editor.client.wait_update("agent_message_chunk", len(editor.client.trace.frames) - 1)
    editor.client.notify("$/cancel_request", {"requestId": ident})
    assert stop_reason(editor.client.answer(ident)) == "cancelled"


def _second_life(editor: Editor) -> None:
    """Another page on the same pipes: it begins from the start, and its old session is cancelled first."""
    before = editor.session
    editor.client.notify("session/cancel", {"sessionId": before})
    editor.call("initialize", editor.facts["params"])
    new = editor.call("session/new", {"cwd": str(editor.stage.project), **editor.facts["new"]})
    assert new["sessionId"] != before


CALLS: dict[str, Callable[[Editor], None]] = {
    "session/list": _listed,
    "session/load": _loaded,
    "session/resume": _resumed,
    "session/fork": _forked,
    "session/close": _closed,
    "session/delete": _deleted,
    "logout": _logged_out,
    "$/cancel_request": _one_request_cancelled,
    "second life": _second_life,
}


def test_every_file_is_played_by_what_it_says() -> None:
    """A call that no test knows, or a field that none reads, would be a promise that nobody keeps."""
    fields = {
        "about", "environment", "params", "envelope", "authenticate", "opening", "new", "afterNew", "prompt", "fs",
        "allow", "reject", "unknown", "calls",
    }  # fmt: skip
    for name in NAMES:
        facts = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        assert set(facts) == fields, name
        assert set(facts["calls"]) <= set(CALLS), name
        assert os.linesep not in facts["about"]


def _selected(option: str) -> Obj:
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}
