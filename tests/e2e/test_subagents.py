"""Sub-agents over real pipes (docs/others.md, clauses A-1 to A-11)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import folder, listed, live, load, log_of, restarted
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client
from tests.support.trace import Item, Obj

METHOD = "session/request_permission"


def task(label: str, *lines: str, **more: object) -> str:
    """Return the line of a script that starts a sub-agent, which plays the lines."""
    return f"call task {json.dumps({'description': label, 'prompt': script(*lines), **more})}"


def children(stage: Stage) -> list[Obj]:
    """Return what the command lists, sub-agents included."""
    command = (sys.executable, "-m", "acp_server", "sessions", "list", "--children", "--json")
    done = subprocess.run(command, env=stage.environment(), capture_output=True, text=True, timeout=60, check=True)
    found: list[Obj] = json.loads(done.stdout)
    return found


def logged(stage: Stage, session: str) -> Sequence[SessionEvent]:
    entries = scan_log(log_of(stage, session).read_bytes(), "zstd").entries
    return [entry for entry in entries if isinstance(entry, SessionEvent)]


def results(events: Sequence[SessionEvent]) -> dict[str, tuple[str, str | None]]:
    """Return of each call's result the first line and the code of its failure."""
    found = {}
    for event in events:
        if event.type == "tool/result":
            data: Any = event.data
            block = data["message"]["content"][0]
            text = block["content"][0]["text"] if block["content"] else ""
            found[block["toolCallId"]] = (text.split("\n")[0], data.get("error", {}).get("code"))
    return found


def ends(events: Sequence[SessionEvent]) -> list[str]:
    data: list[Any] = [event.data for event in events if event.type == "turn/end"]
    return [one["reason"]["kind"] for one in data]


def shown(card: Item) -> str:
    return "".join(part["content"]["text"] for part in card.fields.get("content", []) if part["type"] == "content")


def cards(client: Client, session: str) -> Mapping[str, list[Obj]]:
    """Return the updates of each card by title."""
    found: dict[str, list[Obj]] = {}
    for update in live(client, session):
        if update.kind == "tool_call_update":
            found.setdefault(str(update.fields["title"]), []).append(update.fields)
    return found


def test_a_report_is_the_result_and_the_card_shows_what_is_done(stage: Stage) -> None:
    (stage.project / "a.txt").write_text("alpha\n")
    client, session = stage.open()
    lines = ('call read {"path": "a.txt"}', "step", "say It says alpha.")
    answer, turn = client.prompt(session, script(task("Read a.txt", *lines), "step", "say Thanks."))
    (card,) = client.calls(turn)
    (child,) = [one for one in children(stage) if one.get("origin") == "subagent"]
    seen = [part["content"]["text"] for one in cards(client, session)["Read a.txt"] for part in one.get("content", ())]
    assert (stop_reason(answer), client.said(turn), shown(card)) == ("end_turn", "Thanks.", "It says alpha.")
    assert card.fields["rawOutput"] == {"sessionId": child["id"], "steps": 2}
    assert any("· " in text and "a.txt" in text for text in seen)
    assert (child["parent"], child["title"], child["turns"]) == (session, "Read a.txt", 1)
    assert [one["sessionId"] for one in listed(client)] == [session]


def test_a_fork_knows_the_turns_that_are_over_and_nothing_else_does(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say The word is amber."))
    client.prompt(session, script(task("Knows", "say one", inherit=True), task("Not", "say two"), "step", "say ok"))
    known = {
        str(one["title"]): "amber" in str([event.data for event in logged(stage, str(one["id"]))])
        for one in children(stage)
        if one.get("origin") == "subagent"
    }
    assert known == {"Knows": True, "Not": False}


def test_consent_is_asked_in_the_parent_and_names_the_call(stage: Stage) -> None:
    client, session = stage.open()
    client.answerers[METHOD] = lambda _request: {
        "result": {"outcome": {"outcome": "selected", "optionId": "allow-session"}}
    }
    write = 'call write {"path": "a.txt", "content": "new\\n"}'
    lines = (task("First", write, "step", "say wrote"), "step", task("Second", write, "step", "say again"), "step")
    _, turn = client.prompt(session, script(*lines, "say ok"))
    (question,) = client.questions
    asked = question["params"]
    assert (asked["sessionId"], asked["toolCall"]["toolCallId"]) == (session, client.calls(turn)[0].id)
    assert asked["toolCall"]["title"].startswith("First: ")
    assert "The sub-agent “First” wants to call write." in asked["toolCall"]["rawInput"]["reason"]
    assert (stage.project / "a.txt").read_text() == "new\n"
    rules = [event.data["change"] for event in logged(stage, session) if event.type == "approval/rule"]
    assert rules == ["added"]


def test_a_child_may_no_more_than_its_parent(stage: Stage) -> None:
    client, session = stage.open()
    client.result("session/set_mode", {"sessionId": session, "modeId": "plan"})
    write = 'call write {"path": "a.txt", "content": "new\\n"}'
    client.prompt(session, script(task("Writes", write, "step", "say done"), "step", "say ok"))
    (child,) = [one for one in children(stage) if one.get("origin") == "subagent"]
    ((said, code),) = results(logged(stage, str(child["id"]))).values()
    assert (said, code) == ("Error: the call was not allowed: In plan mode nothing is changed.", "DENIED")
    assert not (stage.project / "a.txt").exists()


def test_limits_of_depth_and_count_are_told(stage: Stage) -> None:
    (stage.state.parent / "settings").mkdir(exist_ok=True)
    client, session = stage.open()
    deeper = task("Outer", task("Inner", "say in"), "step", "say out")
    client.prompt(session, script(deeper, *(task(f"Nr {n}", "say hi") for n in range(9)), "step", "say ok"))
    ids = [str(one["id"]) for one in children(stage) if one["title"] == "Outer"]
    ((inner, code),) = results(logged(stage, ids[0])).values()
    outcomes = list(results(logged(stage, session)).values())
    assert (inner, code) == (
        "Error: no sub-agent may be started at this depth; do the work yourself",
        "SUBAGENT_LIMIT",
    )
    assert [text for text, code in outcomes if code is None][:1] == ["out"]
    assert {text for text, code in outcomes if code is not None} <= {
        "Error: 8 sub-agents are at work already; wait for one to end"
    }


def test_eight_in_parallel_one_crashes_and_all_end_with_the_turn(stage: Stage) -> None:
    client, session = stage.open()
    tasks = [task(f"Good {n}", "say fine") for n in range(6)]
    tasks += [task("Bad", "say half", "error INVALID_REQUEST It broke."), task("Endless", "say begun", "hang")]
    ident = client.ask(session, script(*tasks, "step", "say never"))

    def stuck() -> bool:
        seen = cards(client, session)
        begun = any("begun" in str(one.get("content")) for one in seen.get("Endless", ()))
        return begun and seen["Bad"][-1]["status"] == "failed"

    assert client.trace.wait(stuck, 60)
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident)) == "cancelled"
    told = list(results(logged(stage, session)).values())
    assert told[:6] == [("fine", None)] * 6
    assert told[6] == ("Error: the sub-agent failed: It broke.", "SUBAGENT_FAILED")
    assert told[7] == ("Error: the sub-agent was stopped because the turn was cancelled", "ABORTED")
    found = [one for one in children(stage) if one["parent"] == session]
    kinds = {str(one["title"]): ends(logged(stage, str(one["id"]))) for one in found}
    assert kinds == {f"Good {n}": ["completed"] for n in range(6)} | {"Bad": ["error"], "Endless": ["aborted"]}


def test_killed_in_between_the_logs_close_and_children_are_listed_by_the_command_alone(stage: Stage) -> None:
    client, session = stage.open()
    tasks = [task("Bad", "error INVALID_REQUEST It broke."), *(task(f"Nr {n}", "say begun", "hang") for n in range(7))]
    client.ask(session, script(*tasks, "step", "say never"))

    def begun() -> bool:
        seen = cards(client, session)
        return all(any("begun" in str(one.get("content")) for one in seen.get(f"Nr {n}", ())) for n in range(7))

    assert client.trace.wait(begun, 60)
    client.trace.wait(lambda: len(list(folder(stage, session).parent.iterdir())) == 9, 60)
    client.agent.signal("KILL")
    assert client.agent.wait_exit(30) == -9
    client = restarted(stage)
    statuses = [
        update.fields["status"] for update in load(client, session, stage.project) if update.kind == "tool_call_update"
    ]
    assert statuses[-8:] == ["failed"] * 8
    assert client.agent.end() is None
    told = list(results(logged(stage, session)).values())
    assert {code for _, code in told} <= {"TOOL_OUTCOME_UNKNOWN", "SUBAGENT_FAILED"}
    assert len(told) == 8
    family = children(stage)
    assert [one.get("origin") for one in family] == [None, *["subagent"] * 8]
    assert {one["parent"] for one in family[1:]} == {session}


def test_deleting_a_session_deletes_its_subagents_and_what_they_used_counts_in_it(stage: Stage) -> None:
    client, session = stage.open()
    other = client.new_session(stage.project)
    client.prompt(
        session,
        script(task("First", "say one", "usage 10 2"), task("Second", "say two", "usage 7 1"), "step", "say ok"),
    )
    client.prompt(other, script(task("Kept", "say three"), "step", "say ok"))
    spent: list[Any] = [event.data for event in logged(stage, session) if event.type == "subagent/spent"]
    ids = {str(one["id"]) for one in children(stage) if one.get("parent") == session}
    assert (len(ids), {str(data["sessionId"]) for data in spent}) == (2, ids)
    assert sorted(counts["inputTokens"] for data in spent for counts in data["usage"].values()) == [7, 10]
    assert client.result("session/delete", {"sessionId": session}) == {}
    assert [str(one["title"]) for one in children(stage) if one.get("origin") == "subagent"] == ["Kept"]
    assert len(list((stage.state / "sessions" / ".trash").rglob("session.jsonl.zstd"))) == 3
    assert client.agent.end() is None
    command = (sys.executable, "-m", "acp_server", "sessions", "delete", "--yes", other)
    subprocess.run(command, env=stage.environment(), capture_output=True, timeout=60, check=True)
    assert children(stage) == []
