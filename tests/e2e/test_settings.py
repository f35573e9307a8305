"""The settings file as a running server sees it (docs/settings.md, clauses F-1 to F-7)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.stage import Stage, script, stop_reason
from tests.support import launch
from tests.support.client import Client
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import KEY, MockLlm

WINDOW = '[models."scripted/demo"]\ncontext_window = {}\n'


def write(stage: Stage, text: str) -> Path:
    """Write the settings as an editor does: another file takes their place."""
    stage.environment()
    path = stage.state / "settings.toml"
    other = path.with_name("settings.toml.new")
    other.write_text(text, "utf-8")
    other.replace(path)
    return path


def window(client: Client, session: str) -> int:
    """Return the size of the window that `/status` tells after a turn."""
    client.prompt(session, script("say Fine."))
    _, turn = client.prompt(session, "/status")
    line = next(line for line in client.said(turn).splitlines() if "window" in line)
    found = re.search(r"([\d,]+) tokens", line)
    assert found is not None, line
    return int(found[1].replace(",", ""))


def test_a_change_is_seen_by_a_running_session(stage: Stage) -> None:
    write(stage, WINDOW.format(1000))
    client, session = stage.open()
    assert window(client, session) == 1_000
    write(stage, WINDOW.format(23456))
    assert window(client, session) == 23_456


def test_another_system_text_counts_from_the_next_request_on(stage: Stage) -> None:
    patch = '[[patch]]\nid = "identity"\nconfig = {{ text = "You are {}." }}\n'
    write(stage, patch.format("a gardener"))
    with MockLlm(Script([{"text": "One."}, {"text": "Two."}])) as mock:
        stage.secrets.append(KEY)
        client, session = stage.open(None, mock.environment("openai"))
        client.prompt(session, "first")
        write(stage, patch.format("a baker"))
        client.prompt(session, "second")
        texts = [text_of(asked.body["messages"][0]["content"]) for asked in mock.asked]
    assert [text.splitlines()[0] for text in texts] == ["You are a gardener.", "You are a baker."]


def test_a_wrong_edit_changes_nothing_and_is_told(stage: Stage) -> None:
    path = write(stage, WINDOW.format(1000))
    client, session = stage.open()
    assert window(client, session) == 1_000
    write(stage, WINDOW.format(2000) + "zzz = 1\n")
    _, turn = client.prompt(session, script("say Fine."))
    told = client.trace.turn_text(turn, "agent_thought_chunk")
    sentence = f"{path}:3: unknown key 'zzz' in models.\"scripted/demo\"."
    assert told == f"{sentence} The settings from before stay in force.\n"
    assert window(client, session) == 1_000
    write(stage, WINDOW.format(2000))
    assert window(client, session) == 2_000


def test_settings_that_are_wrong_at_the_start_keep_sessions_shut_until_they_are_right(stage: Stage) -> None:
    path = write(stage, "modle = 1\n")
    client = stage.client()
    client.initialize()
    error = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    sentence = f"{path}:1: unknown key 'modle'. Did you mean 'model'?"
    assert error == {"code": -32603, "message": sentence, "data": {"details": sentence}}
    write(stage, WINDOW.format(1000))
    session = client.new_session(stage.project)
    assert window(client, session) == 1_000


def test_without_a_file_a_later_one_is_seen(stage: Stage) -> None:
    client, session = stage.open()
    assert window(client, session) == 200_000
    write(stage, WINDOW.format(1000))
    assert window(client, session) == 1_000


def test_the_steps_of_a_turn_are_limited(stage: Stage) -> None:
    write(stage, "[limits]\nmax_steps = 1\n")
    client, session = stage.open()
    answer, _ = client.prompt(session, script("call nothing {}", "step", "say Never."))
    assert stop_reason(answer) == "max_turn_requests"


def test_sessions_in_memory_say_so_and_leave_nothing(stage: Stage) -> None:
    write(stage, 'persistence = "memory"\n')
    client, session = stage.open()
    _, turn = client.prompt(session, script("say Fine."))
    assert client.said(turn) == "Fine."
    assert "kept in memory only" in client.trace.turn_text(turn, "agent_thought_chunk")
    assert [path.name for path in stage.state.iterdir()] == ["settings.toml"]


def test_the_model_of_the_settings_answers_unless_the_environment_names_one(stage: Stage) -> None:
    write(stage, 'model = "scripted/echo"\n')
    client, session = stage.open(model=None)
    _, turn = client.prompt(session, "Once more")
    assert client.said(turn) == "Once more"
    other, session = stage.open("scripted/demo")
    _, turn = other.prompt(session, "/status")
    assert "- Model: scripted/demo" in other.said(turn).splitlines()


def test_files_of_a_workspace_change_nothing(stage: Stage) -> None:
    hostile = WINDOW.format(666) + 'persistence = "memory"\n[providers.openai]\nbase_url = "http://127.0.0.1:9/v1"\n'
    for name in (
        "settings.toml",
        ".acp-server/settings.toml",
        "acp-server/settings.toml",
        ".config/acp-server/settings.toml",
    ):
        path = stage.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(hostile, "utf-8")
    (stage.project / ".env").write_text("OPENAI_API_KEY=sk-evil\nACP_SERVER_MODEL=openai/evil\n", "utf-8")
    (stage.project / "acp_server").mkdir()
    (stage.project / "acp_server" / "__init__.py").write_text("raise SystemExit('taken over')\n", "utf-8")
    clean = dump(stage, stage.root)
    assert dump(stage, stage.project) == clean
    client, session = stage.open()
    assert window(client, session) == 200_000


def test_a_session_may_be_opened_with_a_patch(stage: Stage) -> None:
    patch = stage.root / "patch.toml"
    patch.write_text('[[patch]]\nid = "commands"\ndisabled = true\n', "utf-8")
    client = stage.client(options=("--patch", str(patch)))
    client.initialize()
    client.new_session(stage.project)
    commands = client.wait_update("available_commands_update")["availableCommands"]
    assert [command["name"] for command in commands] == ["trust", "compact"]  # of other rows


def test_an_unknown_profile_keeps_sessions_shut(stage: Stage) -> None:
    client = stage.client(options=("--profile", "mine"))
    client.initialize()
    error = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert error["message"].startswith("There is no profile 'mine'; known are acp, headless;")
    assert list(stage.state.iterdir()) == []


def test_a_profile_without_the_front_end_keeps_sessions_shut(stage: Stage) -> None:
    client = stage.client(options=("--profile", "headless"))
    client.initialize()
    error = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert error["message"] == "The rows have no front end 'acp'; a profile for editors lists the bundle acp."
    written = (stage.state / "profiles" / "headless" / "profile.toml").read_text("utf-8")
    assert written == 'bundles = ["base", "headless"]\n'


def dump(stage: Stage, cwd: Path) -> str:
    command = [sys.executable, "-P", "-m", "acp_server", "--dump-config"]
    done = subprocess.run(
        command, cwd=cwd, env=stage.environment(), capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


def test_the_doctor_tells_no_secret(stage: Stage) -> None:
    write(stage, '[providers.openai]\nheaders = { "X-Key" = "sk-header" }\n')
    environment = stage.environment(None, {"OPENAI_API_KEY": "sk-secret", "ANTHROPIC_API_KEY": "sk-other"})
    command = [*launch.COMMAND[:-1], "doctor", "--json"]
    done = subprocess.run(
        command, cwd=stage.root, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert "sk-" not in done.stdout + done.stderr
    found = {finding["subject"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["provider openai"]["facts"]["key"] == {"from": "env", "present": True}
    assert found["provider deepseek"]["state"] == "missing"
    assert found["model"]["facts"] == {"model": "anthropic/claude-sonnet-5-5"}
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_edit_is_told_at_once_where_notices_are_shown(stage: Stage) -> None:
    path = write(stage, WINDOW.format(1000))
    client = stage.client()
    client.initialize({"session": {"notices": {}}})
    session = client.new_session(stage.project)
    client.wait_update("available_commands_update")
    assert window(client, session) == 1_000
    write(stage, "modle = 1\n")
    sentence = f"{path}:1: unknown key 'modle'. Did you mean 'model'? The settings from before stay in force."
    assert client.wait_update("notice")["title"] == sentence


def command(stage: Stage, *words: str) -> tuple[int, str, str]:
    whole = [*launch.COMMAND[:-1], "config", *words]
    done = subprocess.run(
        whole, cwd=stage.root, env=stage.environment(), capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_one_setting_is_read_and_changed_from_the_command_line(stage: Stage) -> None:
    path = stage.state / "settings.toml"
    assert command(stage, "path") == (0, f"{path}\n", "")
    assert command(stage, "get", "limits.max_steps") == (1, "", "")
    assert command(stage, "set", "limits.max_steps", "7") == (0, "", "")
    path.write_text("# mine\n" + path.read_text("utf-8").replace("7", "7 # few"), "utf-8")
    assert command(stage, "set", 'models."a/b".context_window', "1000") == (0, "", "")
    assert command(stage, "set", "limits.max_steps", "9") == (0, "", "")
    text = '# mine\n[limits]\nmax_steps = 9 # few\n\n[models."a/b"]\ncontext_window = 1000\n'
    assert path.read_text("utf-8") == text
    assert path.stat().st_mode & 0o777 == 0o600
    assert command(stage, "get", "limits") == (0, "{ max_steps = 9 }\n", "")
    assert command(stage, "get") == (0, text, "")
    wrong = f"acp-server config: {path}:3: limits.max_steps must be a whole number, not text.\n"
    assert command(stage, "set", "limits.max_steps", "many") == (1, "", wrong)
    assert command(stage, "set", "a b", "1") == (1, "", "acp-server config: 'a b' is no key\n")
    assert path.read_text("utf-8") == text
