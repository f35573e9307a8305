"""The command-line client acpx 0.19.1: one prompt, its frames both ways on stdout, its exit codes; a whole story."""

from __future__ import annotations

import json
import shlex
import subprocess
import time

from tests.e2e.stage import Stage, script
from tests.support import invariants, launch, node, schema
from tests.support.trace import Obj, Trace


def command(*words: str) -> list[str]:
    """Return the command of acpx with this server as its agent."""
    program = node.modules() / "acpx" / "dist" / "cli.js"
    return [str(node.program("node")), str(program), "--agent", shlex.join(launch.COMMAND), *words]


def environment(stage: Stage) -> dict[str, str]:
    return {**stage.environment(), "PATH": node.environment()["PATH"]}


def run(stage: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    """Run acpx to its end."""
    env = environment(stage)
    return subprocess.run(
        command(*words), env=env, cwd=stage.project, capture_output=True, text=True, timeout=90, check=False
    )


def begin(stage: Stage, *words: str) -> subprocess.Popen[str]:
    """Start acpx, and return while it runs."""
    return subprocess.Popen(
        command(*words),
        env=environment(stage),
        cwd=stage.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def trace(lines: str) -> Trace:
    """Return the frames that acpx printed; what has our answers and updates came from us."""
    made, asked = Trace(), set[object]()
    for line in lines.splitlines():
        frame: Obj = json.loads(line)
        if "jsonrpc" not in frame:
            continue
        ours = frame.get("method") == "session/update" or ("method" not in frame and frame.get("id") in asked)
        if "method" in frame and "id" in frame:
            asked.add(frame["id"])
        made.add(1, "got" if ours else "sent", line.encode())
    return made


def test_exec_prints_the_frames_of_one_prompt(stage: Stage) -> None:
    done = run(stage, "--format", "json", "--json-strict", "exec", script("think Hm.", "say Hello there."))
    assert (done.returncode, done.stderr) == (0, "")
    played = trace(done.stdout)
    turns = played.turns()
    assert [played.turn_text(turn) for turn in turns] == ["Hello there."]
    assert [(played.answer(turn.id) or {})["result"] for turn in turns] == [{"stopReason": "end_turn"}]
    assert invariants.sessions(played.frames) == []
    assert schema.stable().agent_trace(played) == []


def test_exec_in_words_shows_the_answer(stage: Stage) -> None:
    done = run(stage, "--format", "quiet", "exec", script("say Hello there."))
    assert (done.returncode, done.stdout.strip()) == (0, "Hello there.")


def test_a_turn_that_takes_too_long_is_given_up(stage: Stage) -> None:
    done = run(stage, "--format", "json", "--json-strict", "--timeout", "2", "exec", script("say Begun.", "hang"))
    assert done.returncode == 3


EDIT = 'call edit {{"path": "notes.txt", "old_string": "{}", "new_string": "{}"}}'
READ = 'call read {"path": "notes.txt"}'
JSON = ("--format", "json")
NAMED = ("-s", "story")


def frames(lines: str) -> list[Obj]:
    return [frame.value for frame in trace(lines).frames]


def diffs(lines: str) -> list[tuple[str, str]]:
    """Return what calls that have ended well have changed."""
    updates = [frame["params"]["update"] for frame in frames(lines) if frame.get("method") == "session/update"]
    ended = [update for update in updates if update.get("status") == "completed"]
    items = [item for update in ended for item in update.get("content") or [] if item["type"] == "diff"]
    return [(item["oldText"], item["newText"]) for item in items]


def owner_has_ended(stage: Stage) -> None:
    """Return once acpx's process behind a session has ended by itself."""
    end = time.monotonic() + 60
    while "running" in run(stage, "status", *NAMED).stdout and time.monotonic() < end:
        time.sleep(0.2)


def test_a_story_with_permissions_a_diff_a_reload_a_cancel_and_a_mode(stage: Stage) -> None:
    notes = stage.project / "notes.txt"
    notes.write_text("old\n")
    assert run(stage, "sessions", "new", "--name", "story").returncode == 0
    try:
        denied = run(
            stage, "--ttl", "1", "--deny-all", *JSON, "prompt", *NAMED, script(READ, "step", EDIT.format("old", "new"))
        )
        assert (denied.returncode, notes.read_text(), diffs(denied.stdout)) == (5, "old\n", [])
        owner_has_ended(stage)
        allowed = run(
            stage,
            "--approve-all",
            *JSON,
            "prompt",
            *NAMED,
            script(READ, "step", EDIT.format("old", "new"), "step", "say Done."),
        )
        assert (allowed.returncode, notes.read_text()) == (0, "new\n"), allowed.stdout[-600:] + allowed.stderr[-600:]
        assert diffs(allowed.stdout) == [("old\n", "new\n")]
        opened = {frame.get("method") for frame in frames(allowed.stdout)} & {"session/load", "session/resume"}
        assert opened, "the session was not opened again"
        assert run(stage, "set-mode", *NAMED, "auto").returncode == 0
        wrong = run(stage, "set-mode", *NAMED, "nonsense")
        assert (wrong.returncode, "-32602" in wrong.stderr) == (1, True)
        told = ""
        with begin(stage, *JSON, "prompt", *NAMED, script("say Begun.", "hang")) as hanging:
            assert hanging.stdout is not None
            for line in hanging.stdout:
                told += line
                if "Begun." in line and "agent_message_chunk" in line:
                    assert run(stage, "cancel", *NAMED).returncode == 0
        assert hanging.returncode == 0
        assert frames(told)[-1]["result"] == {"stopReason": "cancelled"}
        listed = run(stage, *JSON, "sessions", "list")
        assert (listed.returncode, str(stage.project) in listed.stdout) == (0, True)
    finally:
        assert run(stage, "sessions", "close", "story").returncode == 0
