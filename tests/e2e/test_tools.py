"""Tools, modes and consent over real pipes (docs/tools.md; docs/protocol.md, clauses M, R and TC)."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from acp_server.session.file_changes import FileState, changes_in
from tests.e2e.sessions import folder, live, load, log_of, merged, restarted, said
from tests.e2e.stage import Stage, stop_reason
from tests.support import schema
from tests.support.client import METHOD_NOT_FOUND, Answerer
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Item, Obj

METHOD = "session/request_permission"
ONCE: Obj = {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"}
NO: Obj = {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"}
SAID_NO = "Error: the call was not allowed: the person said no"
CANCELLED = "Error: the call was not allowed: the question was cancelled"
NOBODY = "Error: the call was not allowed: nobody could be asked"


class Play:
    """One client with a model that answers by script, and a person who answers by rule."""

    def __init__(self, stage: Stage, mock: MockLlm) -> None:
        self.stage, self.mock = stage, mock
        stage.secrets.append(KEY)
        self.client = stage.client(None, mock.environment("openai"))
        mock.on_request = self.client.trace.poke
        self.client.initialize()
        self.opened = self.client.result("session/new", {"cwd": str(stage.project), "mcpServers": []})
        self.session = str(self.opened["sessionId"])

    def script(self, *answers: Obj) -> None:
        self.mock.script = Script(answers)

    def person(self, answer: Answerer | None) -> None:
        if answer is None:
            self.client.answerers.pop(METHOD, None)
        else:
            self.client.answerers[METHOD] = answer

    def run(self, *answers: Obj) -> tuple[object, list[Item]]:
        """Play a turn; return why it stopped and the cards of its calls."""
        self.script(*answers)
        answer, turn = self.client.prompt(self.session, "go")
        return stop_reason(answer), self.client.calls(turn)

    def mode(self, mode: str) -> None:
        assert self.client.result("session/set_mode", {"sessionId": self.session, "modeId": mode}) == {}

    def question(self, number: int) -> Obj:
        """Wait for the question with that number, from 0; return the request."""
        found = self.client.trace.wait(lambda: self.client.questions[number : number + 1], 15)
        assert found, "no question came"
        return found[0]

    def reply(self, number: int, option: str) -> None:
        body = {"jsonrpc": "2.0", "id": self.question(number)["id"], "result": chosen(option)}
        self.client.send_line(json.dumps(body).encode())

    def results(self) -> list[str]:
        """Return the results of tools that the model was told in its last request."""
        return [text_of(m["content"]) for m in self.mock.asked[-1].messages if m.get("role") == "tool"]

    def restart(self) -> None:
        self.client = restarted(self.stage, None, self.mock.environment("openai"))
        self.mock.on_request = self.client.trace.poke


def chosen(option: str) -> Obj:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def choosing(option: str) -> Answerer:
    return lambda _request: {"result": chosen(option)}


def silent(_request: Obj) -> None:
    return None


def call(tool: str, **args: object) -> Obj:
    return {"tool": tool, "args": args}


def write(path: str, content: str = "new\n") -> Obj:
    return call("write", path=path, content=content)


def bash(command: str) -> Obj:
    return call("bash", command=command)


def shown(card: Item) -> str:
    """Return the text that a card shows at last."""
    return "".join(part["content"]["text"] for part in card.fields.get("content", []) if part["type"] == "content")


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    with MockLlm() as mock:
        yield Play(stage, mock)


# -- the question


def test_a_write_is_asked_and_happens_once_it_is_allowed(play: Play) -> None:
    target = play.stage.project / "a.txt"
    seen: list[bool] = []

    def answer(_request: Obj) -> Obj:
        seen.append(target.exists())
        return {"result": chosen("allow-once")}

    play.person(answer)
    stopped, (card,) = play.run(write("a.txt"))
    (question,) = play.client.questions
    asked = question["params"]["toolCall"]
    diff = [{"type": "diff", "path": str(target), "newText": "new\n"}]
    assert question["params"]["options"] == [
        ONCE,
        {
            "optionId": "allow-session",
            "name": f"Allow for this session: changes of {target}",
            "kind": "allow_always",
        },
        {
            "optionId": "reject-session",
            "name": f"Reject for this session: changes of {target}",
            "kind": "reject_always",
        },
        NO,
    ]
    assert (asked["toolCallId"], asked["kind"], asked["content"][:-1]) == (card.id, "edit", diff)
    assert (asked["rawInput"]["effect"], asked["rawInput"]["paths"]) == ("edit", [str(target)])
    assert (seen, target.read_text(), card.status, stopped) == ([False], "new\n", "completed", "end_turn")
    assert card.fields["content"][:1] == diff


def test_an_edit_shows_the_change_that_it_makes(play: Play) -> None:
    target = play.stage.project / "a.txt"
    target.write_text("one\ntwo\n")
    play.person(choosing("allow-once"))
    edit = call("edit", path="a.txt", old_string="two", new_string="three")
    stopped, (read, card) = play.run(call("read", path="a.txt"), edit)
    asked = play.client.questions[0]["params"]["toolCall"]
    assert asked["content"][:-1] == [{"type": "diff", "path": str(target), "oldText": "two", "newText": "three"}]
    assert (asked["toolCallId"], asked["title"]) == (card.id, "Edit a.txt")
    assert (read.status, card.status, stopped) == ("completed", "completed", "end_turn")
    assert (len(play.client.questions), target.read_text()) == (1, "one\nthree\n")


def test_reading_searching_and_planning_ask_nobody(play: Play) -> None:
    (play.stage.project / "a.txt").write_text("needle\n")
    calls = [
        call("read", path="a.txt"),
        call("glob", pattern="*.txt"),
        call("grep", pattern="needle"),
        call("list", path="."),
        call("todo", todos=[]),
        bash("cat a.txt | wc -l"),
    ]
    stopped, cards = play.run(*calls)
    assert ([card.status for card in cards], stopped) == (["completed"] * len(calls), "end_turn")
    assert play.client.questions == []


REFUSALS: list[tuple[Obj, str]] = [
    ({"result": chosen("reject-once")}, SAID_NO),
    ({"result": chosen("allow-always-and-for-ever")}, SAID_NO),
    ({"result": chosen("")}, SAID_NO),
    ({"result": {"outcome": {"outcome": "selected"}}}, SAID_NO),
    ({"result": {"outcome": {"optionId": "allow-once"}}}, SAID_NO),
    ({"result": {"outcome": "selected", "optionId": "allow-once"}}, SAID_NO),
    ({"result": {"outcome": {"outcome": "selected", "optionId": ["allow-once"]}}}, SAID_NO),
    ({"result": {"outcome": {"outcome": "selected", "optionId": "Allow-Once"}}}, SAID_NO),
    ({"result": {}}, SAID_NO),
    ({"result": None}, SAID_NO),
    ({"result": {"outcome": {"outcome": "cancelled"}}}, CANCELLED),
    ({"result": "allow-once"}, NOBODY),
    ({"error": {"code": -32000, "message": "allow-once"}}, NOBODY),
    (METHOD_NOT_FOUND, NOBODY),
]
"""Answers of a client, and what the model is told."""


def test_everything_but_a_clear_yes_is_a_no(play: Play) -> None:
    bodies = iter([body for body, _ in REFUSALS])
    play.person(lambda _request: next(bodies))
    writes = [write(f"{number}.txt") for number in range(len(REFUSALS))]
    stopped, cards = play.run(*writes, {"text": "I see."})
    whys = [why for _, why in REFUSALS]
    assert (stopped, [card.status for card in cards]) == ("end_turn", ["failed"] * len(REFUSALS))
    assert ([shown(card) for card in cards], play.results()) == (whys, whys)
    parts = [part["type"] for card in cards for part in card.fields["content"]]
    assert (parts, list(play.stage.project.iterdir())) == (["content"] * len(REFUSALS), [])


def statuses(play: Play, call_id: object) -> list[object]:
    """Return the states of one card, in order."""
    updates = [update for update in live(play.client, play.session) if update.fields.get("toolCallId") == call_id]
    return [update.fields["status"] for update in updates]


def test_a_card_is_pending_while_its_question_is_open_and_in_progress_once_it_runs(play: Play) -> None:
    seen: list[list[object]] = []

    def answer(request: Obj) -> Obj:
        seen.append(statuses(play, str(request["params"]["toolCall"]["toolCallId"])))
        return {"result": chosen("allow-once" if len(seen) == 1 else "reject-once")}

    play.person(answer)
    _, (allowed, refused, looking) = play.run(write("a.txt"), write("b.txt"), bash("ls"))
    assert seen == [["pending", "pending"]] * 2
    assert statuses(play, allowed.id) == ["pending", "pending", "in_progress", "completed"]
    assert statuses(play, refused.id) == ["pending", "pending", "failed"]
    assert statuses(play, looking.id)[:2] == ["pending", "in_progress"]


def test_a_result_is_there_for_programs_too_live_and_on_load(play: Play) -> None:
    (play.stage.project / "a.txt").write_text("one\n")
    play.run(call("read", path="a.txt"), call("read", path="gone.txt"), bash("ls"))
    path = str(play.stage.project / "a.txt")
    expected: list[Obj] = [
        {"path": path, "first": 1, "last": 1, "total": 1, "more": False},
        {"error": {"name": "ToolError", "code": "NOT_FOUND"}},
    ]
    shown_live = [
        update.fields["rawOutput"] for update in live(play.client, play.session) if "rawOutput" in update.fields
    ]
    ran = shown_live[-1]
    assert (ran["exitCode"], ran["sandbox"]["level"], ran["sandbox"]["network"]) == (0, "workspace-write", "off")
    expected.append(ran)
    assert shown_live == expected
    play.restart()
    replay = load(play.client, play.session, play.stage.project)
    assert [update.fields["rawOutput"] for update in replay if "rawOutput" in update.fields] == expected


def test_a_cancelled_question_ends_the_turn_as_cancelled(play: Play) -> None:
    play.person(silent)
    play.script(write("a.txt"))
    ident = play.client.ask(play.session, "go")
    play.question(0)
    play.client.notify("session/cancel", {"sessionId": play.session})
    body = {"result": {"outcome": {"outcome": "cancelled"}}}
    play.client.send_line(json.dumps({"jsonrpc": "2.0", "id": play.question(0)["id"], **body}).encode())
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    (card,) = play.client.calls(play.client.turn(ident))
    assert (card.status, list(play.stage.project.iterdir()), len(play.mock.asked)) == ("failed", [], 1)
    play.person(choosing("allow-once"))
    assert play.run(write("b.txt"))[0] == "end_turn"
    assert [path.name for path in play.stage.project.iterdir()] == ["b.txt"]


def test_a_yes_that_comes_after_the_cancellation_is_none(play: Play) -> None:
    play.person(silent)
    play.script(write("a.txt"))
    ident = play.client.ask(play.session, "go")
    play.question(0)
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    play.reply(0, "allow-once")
    play.person(choosing("allow-once"))
    assert play.run({"text": "ok"})[0] == "end_turn"
    assert list(play.stage.project.iterdir()) == []


# -- a yes for the session


def test_a_yes_for_the_session_holds_for_that_command_alone(play: Play) -> None:
    play.person(choosing("allow-session"))
    commands = ["touch a", "touch a", "touch b", "touch a", "touch a b", "touch a; touch c"]
    play.run(*map(bash, commands))
    asked = [question["params"]["toolCall"]["rawInput"]["command"] for question in play.client.questions]
    assert asked == ["touch a", "touch b", "touch a b", "touch a; touch c"]
    kinds = [[option["kind"] for option in question["params"]["options"]] for question in play.client.questions]
    assert kinds == [["allow_once", "allow_always", "reject_always", "reject_once"]] * 3 + [
        ["allow_once", "reject_once"]
    ]
    assert not (play.stage.project / "c").exists()  # an option that was not offered is no yes


def test_a_yes_for_the_session_holds_for_that_file_alone(play: Play) -> None:
    play.person(choosing("allow-session"))
    play.run(write("a.txt", "1\n"), write("a.txt", "2\n"), write("b.txt", "3\n"), write("b.txt", "4\n"))
    asked = [question["params"]["toolCall"]["rawInput"]["paths"] for question in play.client.questions]
    assert asked == [[str(play.stage.project / name)] for name in ("a.txt", "b.txt")]
    other = play.client.new_session(play.stage.project)
    play.person(choosing("reject-once"))
    play.script(write("a.txt", "5\n"))
    play.client.prompt(other, "go")
    assert len(play.client.questions) == 3
    assert (play.stage.project / "a.txt").read_text() == "2\n"


def test_a_no_for_the_session_is_not_asked_again_until_it_is_revoked(play: Play) -> None:
    play.person(choosing("reject-session"))
    play.run(bash("touch a"), bash("touch a"), write("b.txt"), write("b.txt"))
    refused = "Error: the call was not allowed: "
    never = f"{refused}the person said no, and that it is not to be asked again"
    denied = (f"{refused}A rule of yours denies this command.", f"{refused}A rule of yours denies changes there.")
    assert play.results() == [never, denied[0], never, denied[1]]
    assert len(play.client.questions) == 2
    assert "1. deny command touch a (session)" in say(play, "/permissions")
    assert say(play, "/permissions revoke 1").startswith("It does not hold any more: deny command touch a")
    play.person(choosing("allow-once"))
    play.run(bash("touch a"), write("b.txt"))
    assert [path.name for path in play.stage.project.iterdir()] == ["a"]


def test_a_yes_for_once_is_for_once(play: Play) -> None:
    play.person(choosing("allow-once"))
    play.run(bash("touch a"), bash("touch a"))
    assert len(play.client.questions) == 2


# -- modes


def test_sessions_begin_in_ask_and_say_which_modes_there_are(play: Play) -> None:
    modes = play.opened["modes"]
    known = [mode["id"] for mode in modes["availableModes"]]
    assert (modes["currentModeId"], known) == ("ask", ["ask", "auto", "plan", "full"])
    option = play.opened["configOptions"][0]
    assert (option["id"], option["category"], option["currentValue"]) == ("mode", "mode", "ask")
    assert [choice["value"] for choice in option["options"]] == known


def test_auto_edits_and_runs_without_a_question(play: Play) -> None:
    play.mode("auto")
    stopped, cards = play.run(write("a.txt"), bash("echo more >> a.txt"))
    assert (stopped, [card.status for card in cards]) == ("end_turn", ["completed", "completed"])
    assert ((play.stage.project / "a.txt").read_text(), play.client.questions) == ("new\nmore\n", [])


def test_auto_asks_about_protected_names_and_what_lies_outside(play: Play) -> None:
    play.mode("auto")
    play.person(choosing("reject-once"))
    outside = play.stage.root / "outside.txt"
    _, cards = play.run(write(str(outside)), write(".git/config"))
    assert [card.status for card in cards] == ["failed", "failed"]
    kinds = [[option["kind"] for option in question["params"]["options"]] for question in play.client.questions]
    assert kinds == [["allow_once", "reject_once"]] * 2
    assert (outside.exists(), list(play.stage.project.iterdir())) == (False, [])


def test_what_lies_outside_is_changed_once_the_person_allows_it(play: Play) -> None:
    play.person(choosing("allow-once"))
    outside = play.stage.root / "outside.txt"
    _, (card,) = play.run(write(str(outside)))
    assert (card.status, outside.read_text(), len(play.client.questions)) == ("completed", "new\n", 1)


def test_plan_changes_nothing_and_asks_nothing_about_edits(play: Play) -> None:
    play.mode("plan")
    play.person(choosing("allow-session"))
    stopped, (card,) = play.run(write("a.txt"))
    assert (stopped, card.status) == ("end_turn", "failed")
    assert shown(card) == "Error: the call was not allowed: In plan mode nothing is changed."
    assert (list(play.stage.project.iterdir()), play.client.questions) == ([], [])


def test_a_mode_that_is_set_during_a_question_counts_for_the_next_call(play: Play) -> None:
    play.person(silent)
    play.script(write("a.txt"), write("b.txt"), {"text": "done"})
    ident = play.client.ask(play.session, "go")
    play.question(0)
    play.mode("auto")
    play.reply(0, "reject-once")
    assert stop_reason(play.client.answer(ident)) == "end_turn"
    assert [path.name for path in play.stage.project.iterdir()] == ["b.txt"]
    assert len(play.client.questions) == 1


def test_a_mode_that_is_set_while_a_tool_runs_counts_for_the_next_call(play: Play) -> None:
    play.mode("auto")
    play.script(bash("echo ready; until [ -e go ]; do :; done"), write("b.txt"))
    ident = play.client.ask(play.session, "go")
    output(play, "ready")
    play.mode("plan")
    (play.stage.project / "go").touch()
    assert stop_reason(play.client.answer(ident)) == "end_turn"
    statuses = [card.status for card in play.client.calls(play.client.turn(ident))]
    assert (statuses, (play.stage.project / "b.txt").exists()) == (["completed", "failed"], False)


def test_an_unknown_mode_is_refused_and_changes_nothing(play: Play) -> None:
    for mode in ("yolo", "", None, 1, True, ["auto"], {"id": "auto"}, "Auto"):
        error = play.client.error("session/set_mode", {"sessionId": play.session, "modeId": mode})
        given = {"sessionId": play.session, "configId": "mode", "value": mode}
        assert (error["code"], play.client.error("session/set_config_option", given)["code"]) == (-32602, -32602)
    assert [u.fields for u in live(play.client, play.session) if u.kind == "current_mode_update"] == []
    play.person(choosing("reject-once"))
    play.run(write("a.txt"))
    assert len(play.client.questions) == 1


def test_the_mode_is_one_thing_under_two_names(play: Play) -> None:
    client = play.client
    start = len(client.trace.frames)
    given = {"sessionId": play.session, "configId": "mode", "value": "auto"}
    options = client.result("session/set_config_option", given)["configOptions"]
    assert options[0]["currentValue"] == "auto"
    assert client.wait_update("current_mode_update", start)["currentModeId"] == "auto"
    assert client.wait_update("config_option_update", start)["configOptions"] == options
    start = len(client.trace.frames)
    play.mode("plan")
    assert client.wait_update("current_mode_update", start)["currentModeId"] == "plan"
    assert client.wait_update("config_option_update", start)["configOptions"][0]["currentValue"] == "plan"


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
def test_the_mode_survives_the_process(play: Play, method: str) -> None:
    play.stage.oracle = schema.unstable
    play.mode("auto")
    play.run({"text": "ok"})
    play.client.trace.excuse(1)
    play.client.agent.kill()
    client = play.stage.client(None, play.mock.environment("openai"), options=["--unstable"])
    client.initialize()
    params = {"sessionId": play.session, "cwd": str(play.stage.project), "mcpServers": []}
    opened = client.result(method, params)
    assert opened["modes"]["currentModeId"] == "auto"
    assert opened["configOptions"][0]["currentValue"] == "auto"
    play.script(write("a.txt"))
    client.prompt(opened.get("sessionId", play.session), "go")
    assert (client.questions, (play.stage.project / "a.txt").read_text()) == ([], "new\n")


# -- commands


def output(play: Play, words: str) -> Obj:
    """Wait until a running call shows these words; return the update."""

    def seen() -> Obj | None:
        for update in live(play.client, play.session):
            if update.kind == "tool_call_update" and update.fields["status"] == "in_progress":
                parts = [part for part in update.fields.get("content", []) if part["type"] == "content"]
                texts = [part["content"]["text"] for part in parts]
                if words in "".join(texts):
                    return update.fields
        return None

    found = play.client.trace.wait(seen, 15)
    assert found is not None, f"{words!r} is never shown"
    return found


def test_output_is_shown_while_the_command_runs(play: Play) -> None:
    play.mode("auto")
    wait = "until [ -e go ]; do :; done"
    play.script(bash(f"echo first; cat /dev/null; echo second; {wait}; echo third; exit 3"), {"text": "ok"})
    ident = play.client.ask(play.session, "go")
    update = output(play, "second")
    assert update["content"] == [{"type": "content", "content": {"type": "text", "text": "first\nsecond\n"}}]
    (play.stage.project / "go").touch()
    assert stop_reason(play.client.answer(ident)) == "end_turn"
    (card,) = play.client.calls(play.client.turn(ident))
    assert (card.id, card.status) == (update["toolCallId"], "completed")
    text = "first\nsecond\nthird\n[exit code 3]"
    assert (shown(card), play.results()) == (text, [text])


def running(mark: str) -> list[str]:
    """Return the processes of this machine whose command has the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if mark.encode() in words:
            found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("form", ["sleep {0}", "trap '' TERM; sleep {0}", "(setsid sleep {0} &) ; sleep {0}"])
def test_a_cancelled_command_leaves_no_process(play: Play, form: str) -> None:
    play.mode("auto")
    mark = f"864{uuid.uuid4().int % 10**9}"
    play.script(bash(f"echo ready; {form.format(mark)}"))
    ident = play.client.ask(play.session, "go")
    output(play, "ready")
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    (card,) = play.client.calls(play.client.turn(ident))
    assert (card.status, running(mark)) == ("failed", [])


def has_box() -> bool:
    """Return whether commands can be confined on this machine, as the command that looks says."""
    done = subprocess.run(
        [sys.executable, "-m", "acp_server", "doctor", "--json"], capture_output=True, timeout=60, check=False
    )
    findings = json.loads(done.stdout)["findings"]
    return any(found["subject"] == "confinement" and found["state"] == "ok" for found in findings)


def test_a_command_changes_nothing_outside_of_the_workspace(play: Play) -> None:
    if not has_box():
        pytest.skip("nothing confines commands on this machine")
    play.mode("auto")
    outside = play.stage.root / "home" / "outside.txt"
    stopped, (card,) = play.run(bash(f"echo x > inside.txt; echo x > {outside}"))
    assert (stopped, outside.exists()) == ("end_turn", False)
    assert (play.stage.project / "inside.txt").read_text() == "x\n"
    assert "[exit code 0]" not in shown(card)


def test_a_path_that_is_denied_for_edits_is_denied_to_commands(play: Play) -> None:
    if not has_box():
        pytest.skip("nothing confines commands on this machine")
    kept = play.stage.project / "kept" / "a.txt"
    kept.parent.mkdir()
    kept.write_text("old\n")
    for name in ("kept", "later.txt"):
        say(play, f"/permissions deny session edit {name}")
    play.mode("auto")
    command = "echo x > kept/a.txt; echo x > kept/b.txt; mv kept gone; echo x > later.txt; echo x > free.txt"
    _, (edited, ran) = play.run(write("kept/a.txt"), bash(command))
    assert edited.status == "failed"
    assert sorted(path.name for path in play.stage.project.iterdir()) == ["free.txt", "kept"]
    assert [(path.name, path.read_text()) for path in kept.parent.iterdir()] == [("a.txt", "old\n")]
    assert "later.txt" in play.results()[1]
    assert play.client.questions == []
    assert "Read-only file system" in shown(ran)


def test_a_command_is_confined_as_the_mode_says_in_which_it_was_asked(play: Play) -> None:
    if not has_box():
        pytest.skip("nothing confines commands on this machine")
    outside = [play.stage.root / "home" / name for name in ("one.txt", "two.txt")]
    play.person(silent)
    play.script(*(bash(f"echo x > {path}") for path in outside))
    ident = play.client.ask(play.session, "go")
    play.question(0)
    play.mode("full")
    play.reply(0, "allow-once")
    play.reply(1, "allow-once")
    assert stop_reason(play.client.answer(ident)) == "end_turn"
    assert [path.exists() for path in outside] == [False, True]
    reasons = [question["params"]["toolCall"]["rawInput"]["reason"] for question in play.client.questions]
    assert reasons == [
        "Each command that does more than look is asked in this mode.",
        "It would run without any confinement.",
    ]


# -- the plan


def test_the_plan_is_shown_whole_each_time_and_again_on_load(play: Play) -> None:
    first = [{"content": "look", "status": "in_progress"}, {"content": "act", "status": "pending"}]
    second = [{"content": "look", "status": "completed"}, {"content": "act", "status": "in_progress"}]
    play.run(call("todo", todos=first), call("todo", todos=second))
    at_the_end = [{**item, "status": "completed"} for item in second]
    expected = [[{**item, "priority": "medium"} for item in plan] for plan in (first, second, at_the_end)]
    plans = [update.fields["entries"] for update in live(play.client, play.session) if update.kind == "plan"]
    assert plans == expected
    play.restart()
    replay = load(play.client, play.session, play.stage.project)
    assert [update.fields["entries"] for update in replay if update.kind == "plan"] == expected


def test_nothing_of_a_plan_is_in_progress_between_turns(play: Play) -> None:
    plan = [{"content": "look", "status": "in_progress"}, {"content": "act", "status": "pending"}]
    play.run(call("todo", todos=plan))
    plans = [update.fields["entries"] for update in live(play.client, play.session) if update.kind == "plan"]
    assert [entry["status"] for entry in plans[-1]] == ["pending", "pending"]
    assert play.run({"text": "hello"})[0] == "end_turn"
    assert len([update for update in live(play.client, play.session) if update.kind == "plan"]) == len(plans)


def test_a_plan_with_two_items_at_once_is_refused(play: Play) -> None:
    both = [{"content": name, "status": "in_progress"} for name in ("a", "b")]
    _, (card,) = play.run(call("todo", todos=both))
    assert card.status == "failed"
    assert [update for update in live(play.client, play.session) if update.kind == "plan"] == []


# -- presets


def offered(play: Play) -> list[str]:
    """Return the names of the tools that the model was offered in its last request."""
    return sorted(tool["function"]["name"] for tool in play.mock.asked[-1].body["tools"])


def preset(options: list[Obj]) -> tuple[object, list[object]]:
    (option,) = [option for option in options if option["id"] == "preset"]
    return option["currentValue"], [choice["value"] for choice in option["options"]]


def test_a_preset_is_chosen_before_the_first_prompt_and_comes_back(play: Play) -> None:
    assert preset(play.opened["configOptions"]) == ("standard", ["standard", "minimal"])
    given = {"sessionId": play.session, "configId": "preset", "value": "minimal"}
    assert preset(play.client.result("session/set_config_option", given)["configOptions"])[0] == "minimal"
    _, (unknown,) = play.run(call("grep", pattern="x"))
    assert offered(play) == ["bash", "edit", "read", "write"]
    assert unknown.fields["rawOutput"]["error"]["code"] == "UNKNOWN_TOOL"
    for value in ("standard", "none"):
        assert play.client.error("session/set_config_option", {**given, "value": value})["code"] == -32602
    play.restart()
    params = {"sessionId": play.session, "cwd": str(play.stage.project), "mcpServers": []}
    assert preset(play.client.result("session/load", params)["configOptions"]) == ("minimal", ["minimal"])
    play.run({"text": "ok"})
    assert offered(play) == ["bash", "edit", "read", "write"]


def test_without_a_choice_the_preset_is_the_whole(play: Play) -> None:
    play.run({"text": "ok"})
    assert {"grep", "todo", "job_list", "multi_edit"} <= set(offered(play))


# -- background jobs


def thoughts(play: Play) -> str:
    return said(live(play.client, play.session), "agent_thought_chunk")


def test_a_job_runs_beside_the_turn_is_looked_at_and_its_end_is_told(play: Play) -> None:
    play.mode("auto")
    job = call("bash", command="echo up; until [ -e go ]; do :; done; echo down; exit 3", background=True)
    _, (started, _, looked) = play.run(job, call("job_list"), call("job_output", job="job-1", wait_seconds=1))
    assert (started.fields["title"][:18], started.fields["rawOutput"]) == ("In the background:", {"job": "job-1"})
    assert ("job-1: runs for" in play.results()[1], shown(looked).startswith("up\n[job-1 runs")) == (True, True)
    (play.stage.project / "go").touch()
    play.run(call("job_output", job="job-1", wait_seconds=60), {"text": "ok"})
    assert play.results()[-1].startswith("down\n[job-1 exit code 3 after")
    told = [text_of(m["content"]) for m in play.mock.asked[-1].messages if m.get("role") == "user"]
    assert told[-1].startswith("[job-1 ended: exit code 3 after")
    assert "[job-1 ended: exit code 3" in thoughts(play)
    before = merged(live(play.client, play.session), users=False)
    play.restart()
    again = merged(load(play.client, play.session, play.stage.project), users=False)
    assert [item for item in again if isinstance(item, tuple)] == [item for item in before if isinstance(item, tuple)]
    _, (gone,) = play.run(call("job_output", job="job-1"))
    assert gone.fields["rawOutput"] == {"error": {"name": "ToolError", "code": "NO_SUCH_JOB"}}


def test_a_job_is_stopped_on_request_and_with_its_session(play: Play) -> None:
    play.mode("auto")
    for name in ("one", "two"):
        play.run(call("bash", command=f"touch {name}; exec -a {play.stage.mark}-{name} sleep 600", background=True))
    _, (stopped,) = play.run(call("job_stop", job="job-1"))
    assert "(it was stopped)" in shown(stopped)
    play.run(call("job_list"))
    one, two = play.results()[-1].split("\n")
    assert ("(it was stopped)" in one, two.startswith("job-2: runs")) == (True, True)
    assert play.client.result("session/close", {"sessionId": play.session}) == {}
    play.client.trace.wait(lambda: not running(f"{play.stage.mark}-two") or None, 30)
    assert running(f"{play.stage.mark}-two") == []


def test_no_job_outlives_the_server(play: Play) -> None:
    play.mode("auto")
    mark = f"{play.stage.mark}-job"
    play.run(call("bash", command=f"exec -a {mark} sleep 600", background=True))
    assert play.client.trace.wait(lambda: running(mark), 30)
    assert play.client.agent.end() is None
    assert running(mark) == []


def test_a_job_in_the_background_is_asked_like_any_command(play: Play) -> None:
    play.person(choosing("reject-once"))
    _, (card,) = play.run(call("bash", command="sleep 600", background=True))
    asked = play.client.questions[0]["params"]["toolCall"]
    told = asked["content"][-1]["content"]["text"]
    assert (card.status, asked["title"], asked["rawInput"]["background"]) == ("failed", "sleep 600", True)
    assert "It would run in the background, without a limit of time, in " in told


# -- long results, and what a session remembers


def spilled(text: str) -> str:
    """Return the path that a cut result names."""
    return text.split("the whole text is in ")[1].split(",", maxsplit=1)[0]


def test_a_long_result_can_be_read_on_also_after_a_load_and_goes_with_the_session(play: Play) -> None:
    play.mode("auto")
    _, (shell,) = play.run(bash("seq 1 300000"))
    path = Path(spilled(shown(shell)))
    assert path.read_text() == "".join(f"{n}\n" for n in range(1, 300_001))
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    play.run(call("read", path=str(path), offset=250_000, limit=2), call("grep", pattern="^299999$", path=str(path)))
    assert (play.client.questions, "250001" in play.results()[-2], "299999" in play.results()[-1]) == ([], True, True)
    play.restart()
    load(play.client, play.session, play.stage.project)
    play.run(call("read", path=str(path), offset=299_999, limit=1), write(str(path)))
    assert (play.results()[-2].strip().split("\n")[0], len(play.client.questions)) == ("299999\t299999", 1)
    assert play.client.result("session/delete", {"sessionId": play.session}) == {}
    assert not path.exists()


def test_a_fork_reads_the_long_results_that_it_inherits_and_no_others(play: Play) -> None:
    play.mode("auto")
    _, (shell,) = play.run(bash("seq 1 30000"))
    inherited = spilled(shown(shell))
    parent = play.session
    fork = play.client.result("_acp_server/session/fork", {"sessionId": parent})["sessionId"]
    _, (shell,) = play.run(bash("seq 1 40000"))
    later = spilled(shown(shell))
    play.session = str(fork)
    load(play.client, play.session, play.stage.project)
    play.person(choosing("reject-once"))
    reads = (call("read", path=inherited, offset=29_999, limit=1), call("grep", pattern="^29998$", path=inherited))
    _, cards = play.run(*reads, call("read", path=later), call("read", path=str(Path(inherited).parent)))
    assert [card.status for card in cards] == ["completed", "completed", "failed", "failed"]
    assert (len(play.client.questions), "29999" in play.results()[0]) == (2, True)
    play.run(write(inherited))
    assert Path(inherited).read_text().endswith("30000\n")


def test_what_lies_beside_another_session_is_asked(play: Play) -> None:
    play.mode("auto")
    _, (shell,) = play.run(bash("seq 1 30000"))
    path = spilled(shown(shell))
    play.session = play.client.new_session(play.stage.project)
    play.person(choosing("reject-once"))
    _, (read,) = play.run(call("read", path=path))
    assert (read.status, len(play.client.questions)) == ("failed", 1)


def test_a_file_that_was_read_before_a_load_may_be_changed_while_it_is_the_same(play: Play) -> None:
    play.mode("auto")
    for name in ("same", "other", "unread"):
        (play.stage.project / name).write_text("one\n")
    play.run(call("read", path="same"), call("read", path="other"))
    play.restart()
    load(play.client, play.session, play.stage.project)
    (play.stage.project / "other").write_text("the person's\n")
    edits = [call("edit", path=name, old_string="one", new_string="two") for name in ("same", "other", "unread")]
    _, cards = play.run(*edits)
    codes = [card.fields["rawOutput"].get("error", {}).get("code") for card in cards]
    assert codes == [None, "STALE_FILE", "UNREAD_FILE"]
    texts = [(play.stage.project / name).read_text() for name in ("same", "other", "unread")]
    assert texts == ["two\n", "the person's\n", "one\n"]


def test_what_a_file_was_is_kept_before_it_is_changed(play: Play) -> None:
    play.mode("auto")
    target = play.stage.project / "a.txt"
    target.write_text("one\n")
    edit = call("edit", path="a.txt", old_string="one", new_string="two")
    play.run(call("read", path="a.txt"), edit, write("b.txt"))
    entries = scan_log(log_of(play.stage, play.session).read_bytes(), "zstd").entries
    edited, made = changes_in([entry for entry in entries if isinstance(entry, SessionEvent)])
    assert (edited.path, made.path, made.before) == (str(target), str(play.stage.project / "b.txt"), FileState(None))
    place = folder(play.stage, play.session) / "attachments" / str(edited.before.kept)
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (b"one\n", 0o600)


# -- loading


def without_progress(items: Sequence[object]) -> list[Obj]:
    """Return the updates of calls and plans; output of a running command is shown once and kept in its result."""
    updates = [item for item in items if isinstance(item, dict)]
    return [item for item in updates if item.get("status") != "in_progress" or "rawInput" in item]


def test_cards_are_replayed_as_they_were_shown(play: Play) -> None:
    answers: Iterator[str] = iter(["allow-once", "allow-once", "reject-once", "allow-once"])
    play.person(lambda _request: {"result": chosen(next(answers))})
    (play.stage.project / "a.txt").write_text("one\ntwo\n")
    edit = call("edit", path="a.txt", old_string="two", new_string="three")
    play.run(
        call("read", path="a.txt"),
        edit,
        write("b.txt"),
        write("c.txt"),
        bash("printf out; exit 2"),
        {"calls": [call("read", path="b.txt"), call("read", path="gone.txt"), call("nothing", a=1)]},
        call("todo", todos=[{"content": "look", "status": "pending"}]),
    )
    before = without_progress(merged(live(play.client, play.session)))
    play.restart()
    assert without_progress(merged(load(play.client, play.session, play.stage.project))) == before
    ended = [item["status"] for item in before if item.get("status") in ("completed", "failed")]
    assert ended == [
        *["completed", "completed", "completed", "failed", "completed"],
        *["completed", "failed", "failed", "completed"],
    ]
    diffs = [part for item in before for part in item.get("content", ()) if part["type"] == "diff"]
    assert {diff["path"] for diff in diffs} == {str(play.stage.project / name) for name in ("a.txt", "b.txt", "c.txt")}


# -- rules that are kept


def say(play: Play, text: str) -> str:
    """Send a slash command and return its answer."""
    answer, turn = play.client.prompt(play.session, text)
    assert stop_reason(answer) == "end_turn"
    return play.client.said(turn)


def test_a_yes_for_the_project_holds_in_other_sessions_until_it_is_revoked(play: Play) -> None:
    settings = play.stage.state / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[consent]\nremember = "project"\n')
    play.restart()
    session = {"cwd": str(play.stage.project), "mcpServers": []}
    play.session = str(play.client.result("session/new", session)["sessionId"])
    play.person(choosing("allow-project"))
    _, cards = play.run(bash("touch made"), bash("touch made"))
    assert ([card.status for card in cards], len(play.client.questions)) == (["completed"] * 2, 1)
    named = play.client.questions[0]["params"]["options"][1]
    assert named == {"optionId": "allow-project", "name": "Allow for this project: touch made", "kind": "allow_always"}
    play.restart()
    play.session = str(play.client.result("session/new", session)["sessionId"])
    play.run(bash("touch made"))
    assert play.client.questions == []
    assert "1. allow command touch made (project)" in say(play, "/permissions")
    assert say(play, "/permissions revoke 1").startswith("It does not hold any more: allow command touch made")
    play.person(choosing("reject-once"))
    _, (card,) = play.run(bash("touch made"))
    assert (card.status, len(play.client.questions)) == ("failed", 1)
    say(play, "/permissions deny user command touch *")
    play.person(choosing("allow-once"))
    _, (card,) = play.run(bash("touch other"))
    assert (card.status, shown(card)) == (
        "failed",
        "Error: the call was not allowed: A rule of yours denies this command.",
    )
    assert len(play.client.questions) == 1


def test_a_yes_for_the_session_comes_back_with_it(play: Play) -> None:
    play.person(choosing("allow-session"))
    play.run(bash("touch made"))
    play.restart()
    load(play.client, play.session, play.stage.project)
    play.run(bash("touch made"))
    assert play.client.questions == []


# -- the network and further directories


REACH = "python3 -c 'import urllib.request as u; u.urlopen(\"http://%s/\", timeout=20)' 2>&1 | tail -1"


def choose(play: Play, option: str, value: str) -> Obj:
    params = {"sessionId": play.session, "configId": option, "value": value}
    found = play.client.result("session/set_config_option", params)["configOptions"]
    return next(each for each in found if each["id"] == option)


def reopened(play: Play, settings: str, **more: object) -> None:
    """Go on with other settings, in a fresh session."""
    (play.stage.state).mkdir(exist_ok=True)
    (play.stage.state / "settings.toml").write_text(settings)
    play.restart()
    session = {"cwd": str(play.stage.project), "mcpServers": [], **more}
    play.session = str(play.client.result("session/new", session)["sessionId"])


def test_a_host_that_is_not_listed_is_refused_by_name_and_asked_when_it_is_wanted(play: Play) -> None:
    reopened(play, '[sandbox]\nnetwork = "allow-list"\nhosts = ["listed.test"]\n')
    play.mode("auto")
    _, (card,) = play.run(bash(REACH % "evil.test"))
    if card.fields["rawOutput"]["sandbox"]["box"] not in ("bubblewrap", "namespaces"):
        pytest.skip("an allow-list needs a full box")
    line = "[sandbox: network denied under workspace-write: evil.test (is not allowed)]"
    assert (line in shown(card), line in play.results()[0]) == (True, True)
    assert "can be named in its `hosts`" in shown(card)
    assert card.fields["rawOutput"]["sandbox"]["network"] == "allow-list"
    assert play.client.questions == []
    play.person(choosing("allow-once"))
    wanting = call("bash", command=REACH % "evil.test", hosts=["Evil.test"])
    _, (card,) = play.run(wanting)
    (question,) = play.client.questions
    asked = question["params"]
    assert asked["toolCall"]["rawInput"]["reason"] == "It would reach evil.test, which is not allowed so far."
    assert "may reach listed.test, evil.test alone." in asked["toolCall"]["content"][-1]["content"]["text"]
    assert [option["kind"] for option in asked["options"]] == ["allow_once", "reject_once"]
    assert "evil.test (has no address)" in shown(card)
    say(play, "/permissions deny user fetch evil.test")
    _, (card,) = play.run(wanting)
    assert shown(card).endswith("A rule of yours denies requests to evil.test.")
    assert list((play.stage.state / "sandbox" / "egress").iterdir()) == []


def test_the_network_is_the_person_s_choice_and_comes_back_with_the_session(play: Play) -> None:
    option = choose(play, "network", "on")
    assert (option["currentValue"], [each["value"] for each in option["options"]]) == ("on", ["off", "on"])
    refused = play.client.error(
        "session/set_config_option", {"sessionId": play.session, "configId": "network", "value": "allow-list"}
    )
    assert refused["code"] == -32602
    play.mode("auto")
    _, (card,) = play.run(bash("true"))
    assert card.fields["rawOutput"]["sandbox"]["network"] == "on"
    play.restart()
    load(play.client, play.session, play.stage.project)
    assert choose(play, "mode", "plan")["currentValue"] == "plan"
    _, (card,) = play.run(call("read", path="nothing"))
    play.mode("auto")
    _, (card,) = play.run(bash("true"))
    assert card.fields["rawOutput"]["sandbox"]["network"] == "on"
    assert choose(play, "network", "off")["currentValue"] == "off"
    _, (card,) = play.run(bash("true"))
    assert card.fields["rawOutput"]["sandbox"]["network"] == "off"


def test_further_directories_are_inside_for_files_commands_and_consent(play: Play) -> None:
    beside, outside = play.stage.root / "beside", play.stage.root / "outside"
    for folder_ in (beside, outside):
        folder_.mkdir()
        (folder_ / "a.txt").write_text("one\n")
    session = {"cwd": str(play.stage.project), "mcpServers": [], "additionalDirectories": [str(beside)]}
    play.session = str(play.client.result("session/new", session)["sessionId"])
    play.mode("auto")
    play.person(choosing("reject-once"))
    _, cards = play.run(
        call("read", path=str(beside / "a.txt")),
        write(str(beside / "b.txt")),
        bash(f"echo c > {beside}/c.txt"),
        write(str(beside / ".vscode" / "tasks.json")),
        call("read", path=str(outside / "a.txt")),
        write(str(outside / "b.txt")),
        bash(f"echo c > {outside}/c.txt"),
    )
    assert [card.status for card in cards] == ["completed"] * 3 + ["failed"] * 3 + ["completed"]
    assert not (outside / "c.txt").exists()
    reasons = [asked["params"]["toolCall"]["rawInput"]["reason"] for asked in play.client.questions]
    assert [reason.split(" ", 1)[1].split(",")[0] for reason in reasons] == [
        "decides what other programs do",
        "lies outside of the session's directories.",
        "lies outside of the session's directories.",
    ]
    assert sorted(path.name for path in beside.iterdir()) == ["a.txt", "b.txt", "c.txt"]
    play.restart()
    load(play.client, play.session, play.stage.project)
    play.person(choosing("reject-once"))
    _, (card,) = play.run(call("read", path=str(beside / "a.txt")))
    assert (card.status, len(play.client.questions)) == ("failed", 1)
    gone = {"cwd": str(play.stage.project), "mcpServers": [], "additionalDirectories": [str(beside / "nothing")]}
    assert play.client.error("session/new", gone)["code"] == -32602


def test_what_nobody_was_asked_about_finds_no_secrets(play: Play) -> None:
    (play.stage.project / ".env").write_text("KEY=needle\n")
    (play.stage.project / "a.txt").write_text("needle\n")
    play.person(choosing("reject-once"))
    _, cards = play.run(bash("grep -rn needle ."), call("grep", pattern="needle"), bash("cat .env"))
    if cards[0].fields["rawOutput"]["sandbox"]["box"] not in ("bubblewrap", "namespaces"):
        pytest.skip("only a full box hides single files")
    assert ["a.txt" in shown(card) and ".env" not in shown(card) for card in cards[:2]] == [True, True]
    assert (cards[2].status, len(play.client.questions)) == ("failed", 1)
