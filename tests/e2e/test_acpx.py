"""The command-line client acpx 0.19.1: one prompt, its frames both ways on stdout, its exit codes."""

from __future__ import annotations

import json
import shlex
import subprocess

from tests.e2e.stage import Stage, script
from tests.support import invariants, launch, node, schema
from tests.support.trace import Obj, Trace


def run(stage: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    """Run acpx with this server as its agent."""
    program = node.modules() / "acpx" / "dist" / "cli.js"
    command = [str(node.program("node")), str(program), "--agent", shlex.join(launch.COMMAND), *words]
    env = {**stage.environment(), "PATH": node.environment()["PATH"]}
    return subprocess.run(command, env=env, cwd=stage.project, capture_output=True, text=True, timeout=90, check=False)


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
    assert schema.stable().trace(played) == []


def test_exec_in_words_shows_the_answer(stage: Stage) -> None:
    done = run(stage, "--format", "quiet", "exec", script("say Hello there."))
    assert (done.returncode, done.stdout.strip()) == (0, "Hello there.")


def test_a_turn_that_takes_too_long_is_given_up(stage: Stage) -> None:
    done = run(stage, "--format", "json", "--json-strict", "--timeout", "2", "exec", script("say Begun.", "hang"))
    assert done.returncode == 3
