"""Presets that are files, over real pipes and the command line (docs/presets.md)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.e2e.test_run import lines, run, session_of
from tests.e2e.test_skills import put
from tests.e2e.test_tools import Play, call, offered, write
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

REVIEW = """\
name = "Review"
description = "Says what is wrong."
tools = ["read", "gr*"]
prompt = "Review changes; change nothing."
mode = "plan"
"""
WIDE = 'base = "minimal"\nmode = "auto"\n'


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def own(stage: Stage, name: str, text: str) -> Path:
    return put(stage.state / "presets" / f"{name}.toml", text)


def project(stage: Stage, name: str, text: str) -> Path:
    return put(stage.project / ".agents" / "presets" / f"{name}.toml", text)


def option(options: list[Obj], ident: str) -> Obj:
    (found,) = [each for each in options if each["id"] == ident]
    return found


def choose(play: Play, name: str) -> list[Obj]:
    given = {"sessionId": play.session, "configId": "preset", "value": name}
    options: list[Obj] = play.client.result("session/set_config_option", given)["configOptions"]
    return options


def values(options: list[Obj]) -> tuple[object, list[object]]:
    preset = option(options, "preset")
    return preset["currentValue"], [each["value"] for each in preset["options"]]


def system(body: Obj) -> str:
    return "\n".join(text_of(one["content"]) for one in body["messages"] if one["role"] in ("system", "developer"))


def trust(play: Play) -> str:
    """Trust what the project brings; return how it was shown."""
    _, turn = play.client.prompt(play.session, "/trust")
    shown = play.client.said(turn)
    digits = re.search(r"/trust ([0-9a-f]{12})", shown)
    assert digits is not None
    play.client.prompt(play.session, f"/trust {digits[1]}")
    return shown


def told(play: Play) -> str:
    return "".join(update.text for update in play.client.trace.updates(0, 10**9, play.session))


def presets(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "acp_server", "presets", *arguments),
        cwd=stage.project,
        env=stage.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_preset_of_the_persons_is_offered_chosen_and_stays(stage: Stage, mock: MockLlm) -> None:
    path = own(stage, "review", REVIEW)
    play = Play(stage, mock)
    assert values(play.opened["configOptions"]) == ("standard", ["standard", "minimal", "review"])
    shown = option(play.opened["configOptions"], "preset")["options"][2]
    assert shown == {"value": "review", "name": "Review", "description": "Says what is wrong."}
    chosen = choose(play, "review")
    assert (values(chosen)[0], option(chosen, "mode")["currentValue"]) == ("review", "plan")
    _, (unknown,) = play.run(write("a.txt"), {"text": "ok"})
    assert offered(play) == ["grep", "read"]
    assert unknown.fields["rawOutput"]["error"]["code"] == "UNKNOWN_TOOL"
    assert system(play.mock.asked[-1].body).endswith("Review changes; change nothing.")
    path.unlink()
    play.restart()
    params = {"sessionId": play.session, "cwd": str(stage.project), "mcpServers": []}
    loaded = play.client.result("session/load", params)["configOptions"]
    assert values(loaded) == ("review", ["review"])
    assert option(loaded, "preset")["options"] == [shown]
    play.run({"text": "ok"})
    assert offered(play) == ["grep", "read"]
    assert system(play.mock.asked[-1].body).endswith("Review changes; change nothing.")


def test_a_changed_file_counts_for_the_next_choice(stage: Stage, mock: MockLlm) -> None:
    own(stage, "review", REVIEW)
    play = Play(stage, mock)
    choose(play, "review")
    own(stage, "other", "tools = []\n")
    own(stage, "review", REVIEW.replace('"gr*"', '"list"'))
    assert values(choose(play, "review")) == ("review", ["standard", "minimal", "other", "review"])
    play.run({"text": "ok"})
    assert offered(play) == ["list", "read"]


def test_a_preset_names_the_model(stage: Stage, mock: MockLlm) -> None:
    play = Play(stage, mock)
    models = [each["value"] for each in option(play.opened["configOptions"], "model")["options"]]
    wanted = next(value for value in models if value != option(play.opened["configOptions"], "model")["currentValue"])
    own(stage, "fast", f'model = "{wanted}"\n')
    own(stage, "gone", 'model = "nobody/x"\n')
    given = {"sessionId": play.session, "configId": "preset", "value": "gone"}
    error = play.client.error("session/set_config_option", given)
    assert (error["code"], "'nobody/x', which is no model" in error["message"]) == (-32602, True)
    chosen = choose(play, "fast")
    assert (values(chosen)[0], option(chosen, "model")["currentValue"]) == ("fast", wanted)


def test_a_wrong_file_is_told_with_its_line_and_stands_in_nobodys_way(stage: Stage, mock: MockLlm) -> None:
    path = own(stage, "bad", 'description = "x"\ntoools = ["read"]\n')
    own(stage, "standard", "tools = []\n")
    own(stage, "review", REVIEW)
    sentence = f"{path}:2: unknown key 'toools'. Did you mean 'tools'?"
    play = Play(stage, mock)
    assert values(play.opened["configOptions"]) == ("standard", ["standard", "minimal", "review"])
    given = {"sessionId": play.session, "configId": "preset", "value": "bad"}
    error = play.client.error("session/set_config_option", given)
    assert (error["code"], sentence in error["message"]) == (-32602, True)
    play.run({"text": "ok"})
    assert sentence in told(play)
    listed = presets(stage)
    assert listed.returncode == 1
    assert sentence in listed.stderr
    assert "standard.toml: the name standard is that of a shipped preset." in listed.stderr
    named = run(stage, "--preset", "bad", "hello")
    assert (named.returncode, sentence in named.stderr) == (1, True)


def test_a_projects_preset_counts_after_trust_and_widens_no_mode(stage: Stage, mock: MockLlm) -> None:
    project(stage, "wide", WIDE)
    play = Play(stage, mock)
    assert values(play.opened["configOptions"])[1] == ["standard", "minimal"]
    given = {"sessionId": play.session, "configId": "preset", "value": "wide"}
    assert "once you trust what the project brings" in play.client.error("session/set_config_option", given)["message"]
    shown = trust(play)
    assert ("- preset wide.toml:" in shown, 'mode = "auto"' in shown) == (True, True)
    chosen = choose(play, "wide")
    assert (values(chosen)[0], option(chosen, "mode")["currentValue"]) == ("wide", "ask")
    play.run(write("a.txt"))
    assert len(play.client.questions) == 1
    assert "asks for the mode auto, which allows more than ask" in told(play)
    assert offered(play) == ["bash", "edit", "read", "write"]


def test_a_projects_preset_may_narrow_the_mode_and_the_persons_may_widen_it(stage: Stage, mock: MockLlm) -> None:
    project(stage, "narrow", 'mode = "plan"\n')
    project(stage, "mine", 'mode = "plan"\n')
    own(stage, "mine", 'mode = "auto"\n')
    play = Play(stage, mock)
    trust(play)
    assert option(choose(play, "narrow"), "mode")["currentValue"] == "plan"
    assert option(choose(play, "mine"), "mode")["currentValue"] == "auto"
    assert option(choose(play, "standard"), "mode")["currentValue"] == "auto"


def test_options_are_shown_anew_once_a_project_is_trusted(stage: Stage, mock: MockLlm) -> None:
    project(stage, "narrow", 'mode = "plan"\n')
    play = Play(stage, mock)
    trust(play)
    trace = play.client.trace
    seen = [update for update in trace.updates(0, 10**9, play.session) if update.kind == "config_option_update"]
    assert values(seen[-1].fields["configOptions"])[1] == ["standard", "minimal", "narrow"]


def test_a_sub_agent_is_made_of_its_parents_preset(stage: Stage, mock: MockLlm) -> None:
    own(stage, "lead", 'tools = ["read", "task"]\n')
    play = Play(stage, mock)
    choose(play, "lead")
    play.run(call("task", description="part", prompt="Do it."), {"text": "Done by the child."}, {"text": "Over."})
    asked = [sorted(tool["function"]["name"] for tool in one.body["tools"]) for one in play.mock.asked]
    assert asked == [["read", "task"]] * 3


def test_a_run_keeps_its_mode_from_a_projects_preset_and_says_so(stage: Stage) -> None:
    project(stage, "wide", WIDE)
    with MockLlm(Script([{"text": "Done."}])) as mock:
        play = Play(stage, mock)
        trust(play)
        play.client.agent.end()
        env = stage.environment(None, mock.environment("openai"))
        done = run(stage, "--preset", "wide", "--output-format", "stream-json", "go", env=env)
    found = lines(done.stdout)
    assert ([line["type"] for line in found[:2]], found[0]["mode"]) == (["session", "notice"], "ask")
    assert "asks for the mode auto, which allows more than ask" in found[1]["message"]


def test_the_command_lists_presets_as_text_and_as_json(stage: Stage) -> None:
    own(stage, "review", REVIEW)
    project(stage, "narrow", 'mode = "plan"\n')
    text = presets(stage)
    assert (text.returncode, text.stderr) == (0, "")
    rows = [line.split(None, 4) for line in text.stdout.splitlines()]
    assert [row[:4] for row in rows[1:4]] == [
        ["standard", "shipped", "-", "-"],
        ["minimal", "shipped", "-", "-"],
        ["review", "yours", "plan", "-"],
    ]
    assert "not trusted, so not used: narrow" in text.stdout
    found = json.loads(presets(stage, "--json").stdout)
    assert (found["untrusted"], found["wrong"]) == (["narrow"], [])
    assert found["presets"][2] == {
        "id": "review",
        "name": "Review",
        "description": "Says what is wrong.",
        "from": "yours",
        "tools": ["gr*", "read"],
        "sections": None,
        "prompt": "Review changes; change nothing.",
        "model": None,
        "mode": "plan",
    }


def test_a_run_has_the_preset_and_what_the_line_says_besides(stage: Stage) -> None:
    own(stage, "writer", 'tools = ["write"]\nprompt = "Write."\nmode = "auto"\n')
    with MockLlm(Script([{"tool": "write", "args": {"path": "a.txt", "content": "x\n"}}, {"text": "Done."}])) as mock:
        stage.secrets.append(KEY)
        env = stage.environment(None, mock.environment("openai"))
        done = run(stage, "--preset", "writer", "--output-format", "stream-json", "go", env=env)
        first = mock.asked[0].body
        mock.script = Script([{"text": "Yes."}])
        own(stage, "writer", "tools = []\n")  # the session stays what it was made of
        same = run(stage, "--continue", "--preset", "writer", "again", env=env)
        other = run(stage, "--continue", "--preset", "minimal", "again", env=env)
        again = mock.asked[-1].body
        own(stage, "writer", 'mode = "auto"\n')
        narrow = run(stage, "--preset", "writer", "--mode", "plan", "--output-format", "json", "go", env=env)
        nobody = run(stage, "--preset", "nobody", "go", env=env)
    opened = json.loads(done.stdout.splitlines()[0])
    assert (done.returncode, opened["mode"]) == (0, "auto")
    assert (stage.project / "a.txt").read_text("utf-8") == "x\n"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["write"]
    assert system(first).endswith("Write.")
    assert (same.returncode, same.stdout) == (0, "Yes.\n")
    assert [tool["function"]["name"] for tool in again["tools"]] == ["write"]
    assert (other.returncode, "before the first prompt" in other.stderr) == (1, True)
    assert json.loads(narrow.stdout)["mode"] == "plan"
    assert (nobody.returncode, nobody.stdout) == (1, "")
    assert "There is no preset 'nobody'; there are standard, minimal, writer." in nobody.stderr
    assert session_of(same)
