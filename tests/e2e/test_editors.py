"""What `acp-server editors` prints starts this installation, as each client would start it (docs/editors.md)."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.cli.editors import SNIPPETS, command, filled, plugin
from tests.e2e.stage import Stage, script, stop_reason
from tests.support import launch
from tests.support.client import Client, Launch

NAMES = [snippet.name for snippet in SNIPPETS]
ANSWERED = "s.status == 'open' and not s.running and #s.transcript.blocks > 1"
LAST = "require('acp.ui.chat').current().transcript.blocks[2]"
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
    where = {
        "neovim": r"command = \{(.*?)\}",
        "codecompanion": r"default = \{(.*?)\}",
        "avante": r"command = (.*?) \}",
        "agent-shell": r":command (.*)",
    }
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


def test_neovim_starts_by_what_is_printed(stage: Stage) -> None:
    """The lines as they are, in an init.lua, and nothing else but the person's `:Acp`."""
    init, said = stage.root / "init.lua", stage.root / "said"
    init.write_text(printed(stage, "neovim"), "utf-8")
    done = f"lua vim.wait(60000, function() local s = require('acp.ui.chat').current() return s and {ANSWERED} end)"
    write = f"lua vim.fn.writefile({{ require('acp.transcript').text({LAST}) }}, '{said}')"
    words = ("--headless", "--clean", "-u", str(init), "-c", "Acp send say it", "-c", done, "-c", write, "-c", "qa!")
    program = Path(sys.executable).parent / "nvim"
    ended = subprocess.run(
        (str(program if program.exists() else shutil.which("nvim")), *words),
        env={**stage.environment(launch.SCRIPTED.replace("demo", "echo")), "XDG_STATE_HOME": str(stage.root)},
        cwd=stage.project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, said.exists()) == (0, True), ended.stderr
    assert "say it" in said.read_text("utf-8")


def test_the_example_for_zed_starts_a_session_that_has_what_it_sets(stage: Stage) -> None:
    example = json.loads((launch.REPOSITORY / "editor-clients" / "zed" / "settings.json").read_text("utf-8"))
    (setting,) = example["agent_servers"].values()
    assert setting["command"].endswith("/acp-server")
    client = Client(Launch([*launch.COMMAND[:-1], *setting["args"]], stage.environment(), stage.root, stage.logs))
    stage.clients.append(client)
    client.start()
    client.initialize()
    params = {"cwd": str(stage.project), "mcpServers": []}
    session = client.answer(client.request("session/new", params))["result"]
    mode = {"sessionId": session["sessionId"], "modeId": setting["default_mode"]}
    assert client.answer(client.request("session/set_mode", mode))["result"] == {}
    for name, chosen in setting["default_config_options"].items():
        option = {"sessionId": session["sessionId"], "configId": name, "value": chosen}
        assert "result" in client.answer(client.request("session/set_config_option", option))


def test_the_page_has_the_setting_of_each_client() -> None:
    page = (launch.REPOSITORY / "docs" / "editors.md").read_text("utf-8")
    for snippet in SNIPPETS:
        if snippet.name != "shell":
            text = filled(snippet, ["/path/to/.venv/bin/acp-server", "acp"])
            assert text.replace(plugin(), "/path/to/editor-clients/neovim") in page, snippet.name
            assert f"`{snippet.name}`" in page


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
