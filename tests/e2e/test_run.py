"""`acp-server run` as scripts, CI and cron meet it (docs/headless.md)."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no annotations
import pytest

from tests.e2e.stage import Stage, script
from tests.support.launch import REPOSITORY
from tests.support.llm_script import Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.pictures import png

COMMAND = (sys.executable, "-m", "acp_server", "run")
SECONDS = 60
HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
"""What a shell starts in the background ignores interrupts, and so do its children."""
SESSION = re.compile(r"^session (session-[0-9a-f-]{36})$", re.MULTILINE)
SCHEMA = json.loads((REPOSITORY / "schemas" / "run-stream.schema.json").read_text("utf-8"))
WRITE = 'call write {"path": "notes.txt", "content": "kept\\n"}'


def run(
    stage: Stage,
    *arguments: str,
    given: str | None = None,
    env: Mapping[str, str] | None = None,
    wrap: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run to the end; the input is closed unless something is given."""
    return subprocess.run(
        (*wrap, *COMMAND, *arguments),
        cwd=stage.project,
        env=stage.environment() if env is None else dict(env),
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def begun(stage: Stage, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run that streams and give it once the model speaks; it hears interrupts, whoever started the tests."""
    popen = subprocess.Popen(
        (sys.executable, "-c", HEARING, *COMMAND, *arguments),
        cwd=stage.project,
        env=stage.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert popen.stdout is not None
    assert popen.stderr is not None
    try:
        for line in popen.stdout:  # the words are in the log's queue from here on
            if "agent_message_chunk" in line:
                break
        yield popen
    finally:
        popen.kill()
        popen.wait(SECONDS)
        popen.stdout.close()
        popen.stderr.close()


def session_of(done: subprocess.CompletedProcess[str]) -> str:
    found = SESSION.search(done.stderr)
    assert found, done.stderr
    return found[1]


def lines(text: str) -> list[dict[str, Any]]:
    """Return the lines of a stream, each held to the schema."""
    check = jsonschema.Draft202012Validator(SCHEMA)
    found = [json.loads(line) for line in text.splitlines()]
    assert [error.message for line in found for error in check.iter_errors(line)] == []
    return found


def stored(stage: Stage) -> list[dict[str, Any]]:
    """Return what the command lists."""
    listed = subprocess.run(
        (sys.executable, "-m", "acp_server", "sessions", "list", "--json"),
        cwd=stage.project,
        env=stage.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def test_the_output_is_the_answer_and_nothing_else(stage: Stage) -> None:
    done = run(stage, script("think hm", "say one\\n", "step", "say two"))
    assert (done.returncode, done.stdout) == (0, "one\n")
    assert done.stderr == f"session {session_of(done)}\n"


def test_the_task_is_read_from_the_input(stage: Stage) -> None:
    done = run(stage, given=script("say from the input") + "\n")
    assert (done.returncode, done.stdout) == (0, "from the input\n")
    dashed = run(stage, "-", given=script("say dashed"))
    assert (dashed.returncode, dashed.stdout) == (0, "dashed\n")


def test_wrong_usage_begins_nothing(stage: Stage) -> None:
    cases = [
        (("--mode", "wild", "x"), "--mode: invalid choice: 'wild'"),
        (("--cwd", "/there/is/none", "x"), "--cwd /there/is/none is no directory that exists"),
        (("--resume", "a", "--continue", "x"), "--resume and --continue exclude each other"),
        (("--timeout", "0", "x"), "--timeout: 0 is no positive number"),
        (("--max-steps", "-1", "x"), "--max-steps: -1 is no positive number"),
        (("-",), "the task on the input is empty"),
        ((), "the task on the input is empty"),
    ]
    for arguments, words in cases:
        done = run(stage, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr
    assert not (stage.state / "sessions").exists()


def test_closed_descriptors_and_no_environment(stage: Stage) -> None:
    bare = {"ACP_SERVER_HOME": str(stage.state), "ACP_SERVER_MODEL": "scripted/demo", "PATH": os.environ["PATH"]}
    bare |= {key: text for key, text in stage.environment().items() if key == "PYTHONPATH"}
    done = run(stage, script("say alone"), env=bare, wrap=("sh", "-c", 'exec "$@" <&- 2>&-', "sh"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "alone\n", "")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((script("say part", "finish refusal"),), 3, "The model refuses to answer."),
        ((script("say part", "finish max-tokens"),), 4, "The answer reached the model's limit of output."),
        (("--max-steps", "1", script("call list {}", "step", "say x")), 4, "limit of requests to the model"),
        (("--timeout", "1", script("say part", "hang")), 4, "The run reached its limit of time."),
        ((script("error BAD_REQUEST wrong"),), 1, "wrong"),
        (("--model", "nobody/x", "x"), 1, "names the provider 'nobody'"),
        (("--resume", "none", "x"), 1, "none"),
        (("--continue",), 1, "There is no session of"),
    ],
)
def test_every_end_has_its_code_and_says_why(stage: Stage, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(stage, *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_session_is_gone_on_with_by_id_and_as_the_newest(stage: Stage) -> None:
    first = run(stage, script("say first"))
    named = run(stage, "--resume", session_of(first), script("say second"))
    newest = run(stage, "--continue", "--output-format", "json", script("say third"))
    told = json.loads(newest.stdout)
    assert [done.returncode for done in (first, named, newest)] == [0, 0, 0]
    assert (session_of(named), told["sessionId"], told["resumed"]) == (session_of(first), session_of(first), True)
    assert (told["answer"], told["steps"], newest.stderr) == ("third", 1, "")
    again = run(stage, "--resume", session_of(first))
    assert (again.returncode, again.stdout) == (1, "")
    assert "No task was given" in again.stderr


def test_an_editor_lists_and_loads_what_a_run_did(stage: Stage) -> None:
    done = run(stage, script("say seen later"))
    client = stage.client()
    client.initialize()
    listed = client.result("session/list", {})["sessions"]
    assert [entry["sessionId"] for entry in listed] == [session_of(done)]
    client.result("session/load", {"sessionId": session_of(done), "cwd": str(stage.project), "mcpServers": []})
    updates = client.trace.updates(0, len(client.trace.frames), session_of(done))
    assert "".join(update.text for update in updates if update.kind == "agent_message_chunk") == "seen later"


def test_a_question_that_nobody_can_answer_is_a_no_and_is_told(stage: Stage) -> None:
    task = script(WRITE, "step", "say over")
    text = run(stage, task)
    assert (text.returncode, text.stdout) == (0, "over\n")
    assert "rejected, since nobody can be asked: Write notes.txt" in text.stderr
    told = json.loads(run(stage, "--output-format", "json", task).stdout)
    assert [(no["tool"], no["effect"], no["paths"]) for no in told["denied"]] == [
        ("write", "edit", [str(stage.project / "notes.txt")])
    ]
    assert not (stage.project / "notes.txt").exists()


def test_a_level_answers_its_questions_and_no_others(stage: Stage) -> None:
    task = script(WRITE, 'call bash {"command": "touch made"}', "step", "say over")
    edits = run(stage, "--approve", "edits", task)
    assert edits.stdout == "over\n"
    assert (stage.project / "notes.txt").read_text("utf-8") == "kept\n"
    assert not (stage.project / "made").exists()
    assert "touch made" in edits.stderr
    every = run(stage, "--approve", "all", "--output-format", "stream-json", task)
    asked = [line for line in lines(every.stdout) if line["type"] == "permission"]
    assert [(line["tool"], line["allowed"]) for line in asked] == [("write", True), ("bash", True)]
    assert (stage.project / "made").exists()


def test_a_preset_is_what_a_fresh_session_is_made_of(stage: Stage) -> None:
    with MockLlm(Script([{"text": "Small."}])) as mock:
        stage.secrets.append(KEY)
        env = stage.environment(None, mock.environment("openai"))
        done = run(stage, "--preset", "minimal", "hello", env=env)
        (asked,) = mock.asked
        late = run(stage, "--continue", "--preset", "standard", "hello", env=env)
    assert (done.returncode, done.stdout) == (0, "Small.\n")
    assert {tool["function"]["name"] for tool in asked.body["tools"]} == {"read", "write", "edit", "bash"}
    assert (late.returncode, "before the first prompt" in late.stderr) == (1, True)


def test_an_image_goes_with_the_task(stage: Stage) -> None:
    (stage.project / "plot.png").write_bytes(png())
    (stage.project / "text.png").write_text("no image", "utf-8")
    with MockLlm(Script([{"text": "A plot."}])) as mock:
        stage.secrets.append(KEY)
        env = stage.environment(None, mock.environment("openai"))
        done = run(stage, "--image", "plot.png", "What is it?", env=env)
        wrong = run(stage, "--image", "text.png", "What is it?", env=env)
        (asked,) = mock.asked
    assert (done.returncode, done.stdout) == (0, "A plot.\n")
    content = asked.body["messages"][-1]["content"]
    url = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[1]["image_url"]["url"] == url
    assert wrong.returncode == 1
    assert "The file text.png is none of image/png" in wrong.stderr


def test_a_stream_is_lines_of_the_schema_that_tell_all(stage: Stage) -> None:
    done = run(stage, "--output-format", "stream-json", script("think a b", "call list {}", "step", "say c d"))
    found = lines(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert [found[0]["type"], found[-1]["type"]] == ["session", "result"]
    kinds = dict.fromkeys(line["update"]["sessionUpdate"] for line in found if line["type"] == "update")
    assert {"agent_thought_chunk", "tool_call", "tool_call_update", "agent_message_chunk"} <= set(kinds)
    last = found[-1]
    assert (last["result"], last["exitCode"], last["answer"], last["toolCalls"]) == ("done", 0, "c d", 1)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_ends_the_run_and_resume_goes_on(stage: Stage, number: int, code: int) -> None:
    task = script("say part of it", "hang")
    with begun(stage, "--output-format", "stream-json", task) as popen:
        popen.send_signal(number)
        rest, said = popen.communicate(timeout=SECONDS)
    (ident,) = [entry["id"] for entry in stored(stage)]
    assert (popen.returncode, said) == (code, "")
    if code > 0:
        (result,) = [line for line in lines(rest) if line["type"] == "result"]
        assert (result["result"], result["exitCode"], result["answer"]) == ("cancelled", code, "part of it")
    went_on = run(stage, "--resume", ident, "--output-format", "json")
    told = json.loads(went_on.stdout)
    assert (went_on.returncode, told["result"], told["resumed"], told["sessionId"]) == (0, "done", True, ident)
    assert told["answer"].startswith("You wrote")


def test_a_reader_that_goes_away_cancels_the_run(stage: Stage) -> None:
    with begun(stage, "--output-format", "stream-json", script("say part of it", "hang")) as popen:
        assert popen.stdout is not None
        popen.stdout.close()
        assert popen.wait(SECONDS) == 128 + signal.SIGPIPE


def test_twenty_runs_at_once_do_not_cross(stage: Stage) -> None:
    def one(number: int) -> subprocess.CompletedProcess[str]:
        return run(stage, script(f"say canary {number}", 'call list {"path": "."}', "step", f"say end {number}"))

    with ThreadPoolExecutor(10) as pool:
        done = list(pool.map(one, range(20)))
    assert [each.stdout for each in done] == [f"end {n}\n" for n in range(20)]
    assert len({session_of(each) for each in done}) == 20
    client = stage.client()
    client.initialize()
    listed = client.result("session/list", {})["sessions"]
    assert {entry["sessionId"] for entry in listed} == {session_of(each) for each in done}


def test_the_examples_of_the_page_run(stage: Stage, tmp_path: Path) -> None:
    """The commands of the page, as a shell, a CI step and a crontab line run them; the model is the scripted one."""
    page = (REPOSITORY / "docs" / "headless.md").read_text("utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "acp-server").write_text(f'#!/bin/sh\nexec {sys.executable} -m acp_server "$@"\n')
    (tools / "acp-server").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    shell = re.search(r"## In a script\n\n((?:    .*\n)+)", page)
    step = re.search(r"run: (acp-server run .*)\n", page)
    line = re.search(r"\* \* 1-5  (.*)\n", page)
    assert shell
    assert step
    assert line
    cron = line[1].replace("/srv/project", str(stage.project)).replace("/opt/acp/bin/acp-server", "acp-server")
    for text in (re.sub(r"(?m)^    ", "", shell[1]), step[1], cron):
        done = subprocess.run(
            ("sh", "-c", text),
            cwd=stage.project,
            env={**stage.environment(), "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, (text, done.stderr)
    assert "Update the digest" in (stage.project / "digest.log").read_text("utf-8")
