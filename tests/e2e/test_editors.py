"""What `acp-server editors` prints starts this installation, as each client would start it (docs/editors.md)."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping

import pytest

from acp_server.cli.editors import SNIPPETS, command, filled
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client, Launch

NAMES = [snippet.name for snippet in SNIPPETS]
BARE = ("avante", "agent-shell")
"""Clients that give the server no HOME."""


def printed(stage: Stage, *names: str) -> str:
    done = subprocess.run(
        (sys.executable, "-m", "acp_server", "editors", *names),
        env=stage.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def started(name: str, text: str) -> list[str]:
    """Return the command as the client reads it out of its setting."""
    if name in ("zed", "vscode", "jetbrains"):
        found = json.loads(text)
        while "command" not in found:
            (found,) = found.values()
        return [found["command"], *found["args"]]
    if name in ("toad", "acpx", "marimo"):
        words = shlex.split(text)
        return shlex.split(words[{"toad": 2, "acpx": 2, "marimo": 2}[name]])
    if name == "shell":
        return shlex.split(text)
    where = {"codecompanion": r"default = \{(.*?)\}", "avante": r"command = (.*?) \}", "agent-shell": r":command (.*)"}
    place = re.search(where[name], text)
    assert place
    return [json.loads(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"', place[1])]


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_setting_starts_a_session(stage: Stage, name: str) -> None:
    argv = started(name, printed(stage, name))
    env: Mapping[str, str] = stage.environment()
    if name in BARE:
        env = {key: text for key, text in env.items() if key in ("PATH", "PYTHONPATH")}
        env = {**env, "ACP_SERVER_HOME": str(stage.state), "ACP_SERVER_MODEL": "scripted/demo"}
    client = Client(Launch(argv, env, stage.root, stage.logs))
    stage.clients.append(client)
    client.start()
    client.initialize()
    answer, _ = client.prompt(client.new_session(stage.project), script("say hello"))
    assert stop_reason(answer) == "end_turn"


def test_all_of_them_are_printed_with_their_places(stage: Stage) -> None:
    text = printed(stage)
    for snippet in SNIPPETS:
        assert f"{snippet.name}: {snippet.title}, in {snippet.place}\n\n" in text
        assert filled(snippet, [sys.executable, "-m", "acp_server", "acp"]) in text


def test_paths_with_blanks_and_quotes_survive_every_setting() -> None:
    words = ['/home/o\'brien/my "own" env/acp-server', "acp"]
    for snippet in SNIPPETS:
        assert started(snippet.name, filled(snippet, words)) == words, snippet.name


def test_an_installed_script_is_named_by_its_absolute_path(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    script_path = stage.root / "acp-server"
    script_path.write_text("#!/bin/sh\n", "utf-8")
    script_path.chmod(0o755)
    monkeypatch.chdir(stage.root)
    monkeypatch.setattr(sys, "argv", [f".{os.sep}acp-server", "editors"])
    assert command() == [str(script_path), "acp"]
