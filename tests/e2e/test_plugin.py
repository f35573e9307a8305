"""The example plugin: installed from its folder into a fresh profile, used in sessions, taken away again."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.stage import Stage, script
from tests.support import launch
from tests.support.client import Client
from tests.support.trace import Turn

EXAMPLE = launch.REPOSITORY / "docs" / "how-to" / "example-plugin"
OFFLINE = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""The build backend is a test dependency, so nothing is fetched; 0 is how pip's variable says no isolation."""


def run(stage: Stage, *words: str) -> tuple[int, str, str]:
    command = [*launch.COMMAND[:-1], *words]
    env = stage.environment(None, OFFLINE)
    done = subprocess.run(command, cwd=stage.root, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def plugin(stage: Stage, *words: str) -> tuple[int, str, str]:
    return run(stage, "plugin", "--profile", "mine", *words)


def served(stage: Stage, model: str = launch.SCRIPTED, options: Sequence[str] = ("--profile", "mine")) -> Client:
    client = stage.client(model, options=options)
    client.initialize()
    return client


def results(client: Client, turn: Turn) -> list[str]:
    """Return the text of each call's result."""
    return [call.fields["content"][0]["content"]["text"] for call in client.calls(turn)]


def commands(client: Client) -> list[str]:
    return [command["name"] for command in client.wait_update("available_commands_update")["availableCommands"]]


def test_the_example_comes_works_and_goes(stage: Stage) -> None:
    assert plugin(stage, "add", str(EXAMPLE)) == (0, "acp-server-example 1.0: added example\n", "")
    assert plugin(stage, "list") == (0, "acp-server-example 1.0: example\n", "")

    client = served(stage)
    session = client.new_session(stage.project)
    assert {"help", "permissions", "seen"} <= set(commands(client))
    call = ('call list_sessions {"kind": "hot"}', "step", 'call list_sessions {"kind": "cold"}', "step", "say Listed.")
    _, turn = client.prompt(session, script(*call))
    assert client.said(turn) == "Listed."
    assert results(client, turn) == [f"{session} scripted/demo", f'{session} @script call list_sessions {{"kind":']
    _, turn = client.prompt(session, "/seen")
    assert client.said(turn) == "1 session(s) open, 2 tool call(s) so far."

    greeting = served(stage, "example/greeter")
    _, turn = greeting.prompt(greeting.new_session(stage.project), "good morning")
    assert greeting.said(turn) == "Hello! You said: good morning"

    assert plugin(stage, "remove", "acp_server.example") == (0, "acp-server-example 1.0: removed example\n", "")
    assert plugin(stage, "list") == (0, "", "")
    assert list((stage.state / "plugins" / "mine").iterdir()) == []
    after = served(stage)
    session = after.new_session(stage.project)
    assert set(commands(after)) == set(commands(client)) - {"seen"}
    _, turn = after.prompt(session, script(*call))
    assert results(after, turn) == ["Error: there is no tool named 'list_sessions'"] * 2


def test_a_row_configures_the_example_and_a_wrong_config_is_named(stage: Stage) -> None:
    plugin(stage, "add", str(EXAMPLE))
    profile = stage.state / "profiles" / "mine" / "profile.toml"
    first = profile.read_text("utf-8")
    profile.write_text(f'{first}\n[[patch]]\nid = "example"\nconfig = {{ greeting = "Ahoy" }}\n', "utf-8")
    client = served(stage, "example/greeter")
    _, turn = client.prompt(client.new_session(stage.project), "there")
    assert client.said(turn) == "Ahoy! You said: there"
    profile.write_text(f'{first}\n[[patch]]\nid = "example"\nconfig = {{ colour = "blue" }}\n', "utf-8")
    error = served(stage).error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert error["message"] == (
        "The row 'example' cannot be built: the config may hold greeting, a text, and nothing else."
    )


def test_a_package_that_is_gone_is_named_before_anything_starts(stage: Stage) -> None:
    plugin(stage, "add", str(EXAMPLE))
    folder = stage.state / "plugins" / "mine" / "acp-server-example"
    folder.rename(folder.with_name("away"))
    error = served(stage).error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert error["message"] == (
        "Not everything is there: the row 'example' needs the module acp_server_example, which is not installed."
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "no-such-folder/"), "acp-server plugin: pip failed: "),
        (("remove", "other"), "acp-server plugin: other is not installed in mine; installed is nothing."),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(stage: Stage, words: tuple[str, ...], said: str) -> None:
    code, out, err = plugin(stage, *words)
    assert (code, out) == (1, "")
    assert err.startswith(said)
    shelf: Path = stage.state / "plugins" / "mine"
    assert not shelf.exists() or list(shelf.iterdir()) == []


def test_a_package_without_plugins_is_refused(stage: Stage, tmp_path: Path) -> None:
    package = tmp_path / "plain"
    (package / "plain").mkdir(parents=True)
    (package / "plain" / "__init__.py").write_text('"""Nothing."""\n', "utf-8")
    head = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    (package / "pyproject.toml").write_text(f'{head}[project]\nname = "plain"\nversion = "1"\n', "utf-8")
    sentence = "The package brings no plugin: it has no entry point of the group acp_server.plugins."
    assert plugin(stage, "add", str(package)) == (1, "", f"acp-server plugin: {sentence}\n")
