"""One whole task in a small real project, in a sandbox, with a person who is asked, a cancel, a kill and a load.

The model is scripted, over HTTP; everything else is real: the project's tests run, files change, the log is read back.
Every frame is held against the schema when the stage is judged.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_server.persistence.scan import scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import live, load, log_of, merged
from tests.e2e.stage import Stage, stop_reason
from tests.e2e.test_tools import Play, call, choosing, has_box, output, shown
from tests.support.mock_llm import MockLlm
from tests.support.trace import Item, Obj

PROJECT = Path(__file__).with_name("data") / "slugs"
CHECK = "sh check.sh"
WRONG = "    tr 'A-Z' 'a-z' | sed -e 's/[^a-z0-9]/-/g'\n"
RIGHT = "    tr 'A-Z' 'a-z' | sed -e 's/[^a-z0-9][^a-z0-9]*/-/g' -e 's/^-//' -e 's/-$//'\n"
PLAN = ["Read the code", "Make the tests pass", "Say what changed"]


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    shutil.copytree(PROJECT, stage.project, dirs_exist_ok=True)
    with MockLlm() as mock:
        made = Play(stage, mock)
        made.person(choosing("allow-once"))
        yield made


def plan(done: int) -> Obj:
    """Return the call that writes the plan with so many entries done and the next one in progress."""
    words = [*["completed"] * done, "in_progress", *["pending"] * len(PLAN)]
    return call("todo", todos=[{"content": text, "status": words[n]} for n, text in enumerate(PLAN)])


def run_check() -> Obj:
    return call("bash", command=CHECK, description="Run the tests")


def edit() -> Obj:
    return call("edit", path="bin/slug.sh", old_string=WRONG, new_string=RIGHT)


def questions(play: Play) -> list[Obj]:
    return [question["params"]["toolCall"] for question in play.client.questions]


def statuses(cards: list[Item]) -> list[tuple[object, str]]:
    return [(card.fields["name"], card.status) for card in cards]


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def events(play: Play) -> list[str]:
    """Return the types of the events on the disk, without the pieces of answers."""
    found = scan_log(log_of(play.stage, play.session).read_bytes(), "zstd").entries
    types = [entry.type for entry in found if isinstance(entry, SessionEvent)]
    return [kind for kind in types if kind != "assistant/chunk"]


def test_a_task_from_the_first_look_to_the_last_word(play: Play) -> None:
    if not has_box():
        pytest.skip("nothing confines commands on this machine")
    before = tree(play.stage.project)
    source = play.stage.project / "bin" / "slug.sh"

    # it looks around, and the tests fail
    looks = [plan(0), call("read", path="bin/slug.sh"), call("grep", pattern="slug"), run_check()]
    stopped, cards = play.run(*looks, {"text": "The runs of marks are the fault."})
    assert (stopped, statuses(cards)) == (
        "end_turn",
        [("todo", "completed"), ("read", "completed"), ("grep", "completed"), ("bash", "completed")],
    )
    assert cards[1].fields["locations"] == [{"path": str(source), "line": 1}]
    assert [(asked["kind"], asked["rawInput"]["command"]) for asked in questions(play)] == [("execute", CHECK)]
    assert shown(cards[3]).endswith("2 of 3 fail\n[exit code 1]")
    assert tree(play.stage.project) == before

    # it changes the file once the person has seen how, and the tests pass
    stopped, cards = play.run(plan(1), edit(), run_check(), {"text": "They pass."})
    assert (stopped, statuses(cards)) == (
        "end_turn",
        [("todo", "completed"), ("edit", "completed"), ("bash", "completed")],
    )
    diff = {"type": "diff", "path": str(source), "oldText": WRONG, "newText": RIGHT}
    assert questions(play)[1]["content"][0] == diff
    (applied,) = [part for part in cards[1].fields["content"] if part["type"] == "diff"]
    assert (applied["path"], WRONG in applied["oldText"], RIGHT in applied["newText"]) == (str(source), True, True)
    assert cards[1].fields["locations"] == [{"path": str(source), "line": 8}]
    assert shown(cards[2]) == "0 of 3 fail\n[exit code 0]"
    changed = {**before, "bin/slug.sh": before["bin/slug.sh"].replace(WRONG.encode(), RIGHT.encode())}
    assert tree(play.stage.project) == changed

    # the person cancels a command that runs
    play.script(call("bash", command="echo waiting; sleep 600"))
    ident = play.client.ask(play.session, "watch it")
    output(play, "waiting")
    play.client.notify("session/cancel", {"sessionId": play.session})
    assert stop_reason(play.client.answer(ident)) == "cancelled"
    assert statuses(play.client.calls(play.client.turn(ident))) == [("bash", "failed")]

    # the process is killed in the middle of another one
    play.script(call("bash", command="echo again; sleep 600"))
    play.client.ask(play.session, "once more")
    output(play, "again")
    play.client.trace.excuse(1)
    shown_live = merged(live(play.client, play.session))
    play.client.agent.kill()
    logged = events(play)
    assert logged[-1] in ("tool/call", "approval/decided")
    assert (logged.count("turn/start"), logged.count("turn/end")) == (4, 3)
    assert tree(play.stage.project) == changed

    # what was shown is shown again, the call that was cut off as failed, and the work goes on
    play.client.start()
    play.client.initialize()
    replay = load(play.client, play.session, play.stage.project)
    ended = [item for item in shown_live if not isinstance(item, dict) or item.get("status") in ("completed", "failed")]
    again = [item for item in merged(replay) if not isinstance(item, dict) or item.get("status") != "in_progress"]
    assert [item for item in again if item in ended] == [item for item in ended if item in again]
    finals = [update.fields for update in replay if update.fields.get("status") in ("completed", "failed")]
    assert [final["status"] for final in finals] == ["completed"] * 7 + ["failed"] * 2
    stopped, cards = play.run(call("read", path="bin/slug.sh"), plan(2), run_check(), {"text": "Done."})
    assert (stopped, [card.status for card in cards]) == ("end_turn", ["completed"] * 3)
    assert shown(cards[2]) == "0 of 3 fail\n[exit code 0]"
    plans = [u.fields["entries"] for u in live(play.client, play.session) if u.kind == "plan"]
    assert [entry["status"] for entry in plans[-1]][:2] == ["completed", "completed"]
    assert {entry["content"] for entry in plans[-1]} == set(PLAN)
    told = [message for message in play.mock.asked[-1].messages if message.get("role") == "user"]
    assert [text for text in ("watch it", "once more") if any(text in str(message) for message in told)] == [
        "watch it",
        "once more",
    ]
    logged = events(play)
    assert (logged.count("turn/start"), logged.count("turn/end")) == (5, 5)
    assert (logged.count("tool/call"), logged.count("tool/result")) == (12, 12)
    assert (logged.count("approval/asked"), logged.count("approval/decided")) == (6, 6)
    assert tree(play.stage.project) == changed
    green = subprocess.run(["sh", "check.sh"], cwd=play.stage.project, capture_output=True, check=False)
    assert (green.returncode, green.stdout) == (0, b"0 of 3 fail\n")
