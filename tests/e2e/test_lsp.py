"""Language servers over real pipes (docs/lsp.md): real ones on a small project, and scripted ones that misbehave."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.support import node
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

LIB = "def area(width: int, height: int) -> int:\n    return width * height\n"
MAIN = "from lib import area\n\nsmall: int = area(1, 2)\nlarge: int = area(30, 40)\nprint(small, large)\n"
FAKE = Path(__file__).parents[1] / "support" / "fake_language_server.py"
WAIT = 60


class Play:
    """One client in `auto`, with a model that answers by script."""

    def __init__(self, stage: Stage, mock: MockLlm) -> None:
        self.stage, self.mock, self.word = stage, mock, uuid.uuid4().hex
        stage.secrets.append(KEY)

    def start(self, servers: Mapping[str, Obj], *, path: str = "/usr/bin:/bin", wait: int = WAIT) -> None:
        """Start the server with these language servers in its settings, and those that PATH has."""
        settings = [f"[lsp]\nwait_seconds = {wait}\n"]
        for name, table in servers.items():
            settings.append(f"[lsp.servers.{name}]\n")
            settings += [f"{key} = {toml(given)}\n" for key, given in table.items()]
        self.stage.state.mkdir(exist_ok=True)
        (self.stage.state / "settings.toml").write_text("".join(settings), "utf-8")
        home = {"HOME": os.environ["HOME"]}  # where this Python may be, which some servers are started by
        self.client = self.stage.client(None, {**self.mock.environment("openai"), **home, "PATH": path})
        self.mock.on_request = self.client.trace.poke
        self.client.initialize()
        self.session = self.client.new_session(self.stage.project)
        params = {"sessionId": self.session, "modeId": "auto"}
        assert self.client.result("session/set_mode", params) == {}

    def run(self, *answers: Obj) -> list[str]:
        """Play a turn; return the results of tools that the model was told in the turn."""
        self.mock.script = Script(answers)
        answer, turn = self.client.prompt(self.session, "go", 180)
        assert stop_reason(answer) == "end_turn"
        told = [text_of(m["content"]) for m in self.mock.asked[-1].messages if m.get("role") == "tool"]
        return told[-len(self.client.calls(turn)) :]

    def offered(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.mock.asked[-1].body["tools"]]


def toml(given: object) -> str:
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in given.items()) + " }"
    return json.dumps(given)


def call(tool: str, **args: object) -> Obj:
    return {"tool": tool, "args": args}


def edit(path: str, old: str, new: str) -> Obj:
    return call("edit", path=path, old_string=old, new_string=new)


def beside(name: str) -> str:
    """Return a program that the test extra brings."""
    return str(Path(sys.executable).parent / name)


def fake(**behaviour: object) -> Obj:
    """Return a language server for .py that behaves as it is told; run by the system's Python."""
    command = ["/usr/bin/python3", "-I", "-c", FAKE.read_text("utf-8"), json.dumps(behaviour)]
    return {"command": command, "languages": {".py": "python"}}


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    (stage.project / "lib.py").write_text(LIB, "utf-8")
    (stage.project / "main.py").write_text(MAIN, "utf-8")
    with MockLlm() as mock:
        yield Play(stage, mock)


READ = call("read", path="main.py")
BREAK = edit("main.py", "area(1, 2)", "area(1, 'two')")
MEND = edit("main.py", "area(1, 'two')", "area(1, 2)")


def test_ty_and_ruff_tell_a_type_error_in_the_result_of_the_edit_that_made_it(play: Play) -> None:
    servers = {"ty": {"command": [beside("ty"), "server"]}, "ruff": {"command": [beside("ruff"), "server"]}}
    play.start(servers)
    _, broken, imported, mended = play.run(READ, BREAK, edit("main.py", "from lib", "import os\n\nfrom lib"), MEND)
    assert "Diagnostics of main.py (ty, ruff): 1 error\n" in broken
    assert "main.py:3:22 error: " in broken
    assert "[ty invalid-argument-type]" in broken
    assert "Diagnostics of main.py (ty, ruff): 1 error, 1 warning\n" in imported
    assert "main.py:1:8 warning: " in imported
    assert "[Ruff F401]" in imported
    assert "(ty, ruff): 1 warning" in mended
    definition, references, hover, outline, search, checked = play.run(
        call("definition", path="main.py", name="area", line=6),
        call("references", path="lib.py", name="area"),
        call("hover", path="main.py", name="area", line=5),
        call("symbols", path="main.py"),
        call("symbols", query="area"),
        call("diagnostics", path="main.py"),
    )
    assert definition == "lib.py:1:5  def area(width: int, height: int) -> int:"
    assert [line.split("  ")[0] for line in references.splitlines()] == [
        "lib.py:1:5",
        "main.py:3:17",
        "main.py:5:14",
        "main.py:6:14",
    ]
    assert "width: int" in hover
    assert "small" in outline
    assert "large" in outline
    assert "lib.py:1" in search
    assert "F401" in checked


def test_basedpyright_pushes_and_typescript_pulls(play: Play) -> None:
    (play.stage.project / "tsconfig.json").write_text('{"compilerOptions": {"strict": true}}', "utf-8")
    (play.stage.project / "lib.ts").write_text("export const area = (w: number, h: number): number => w * h\n", "utf-8")
    (play.stage.project / "main.ts").write_text("import { area } from './lib'\nconsole.log(area(1, 2))\n", "utf-8")
    servers: dict[str, Obj] = {
        "basedpyright": {"command": [beside("basedpyright-langserver"), "--stdio"]},
        "typescript": {"command": [native_typescript(), "--lsp", "--stdio"]},
    }
    play.start(servers)
    script = edit("main.ts", "area(1, 2)", "area(1, 'two')")
    _, python, _, typescript, uses = play.run(
        READ, BREAK, call("read", path="main.ts"), script, call("references", path="lib.ts", name="area")
    )
    assert "Diagnostics of main.py (basedpyright): 1 error\n" in python
    assert "main.py:3:22 error: " in python
    assert "Diagnostics of main.ts (typescript): 1 error\n" in typescript
    assert "main.ts:2:21 error: " in typescript
    assert [line.split("  ")[0] for line in uses.splitlines()] == ["lib.ts:1:14", "main.ts:1:10", "main.ts:2:13"]
    assert {"diagnostics", "definition", "references", "hover", "symbols"} <= set(play.offered())


def native_typescript() -> str:
    """Return the program itself, which needs no Node."""
    (found,) = (node.modules() / "@typescript").glob("*/lib/tsc")
    return str(found)


def test_without_a_server_there_are_no_tools_and_results_are_as_ever(play: Play) -> None:
    play.start({})
    _, broken = play.run(READ, BREAK)
    assert "Diagnostics" not in broken
    assert {"diagnostics", "definition", "references", "hover", "symbols"}.isdisjoint(play.offered())


def test_a_program_of_the_workspace_is_no_server(play: Play) -> None:
    folder = play.stage.project / "bin"
    folder.mkdir()
    planted = folder / "ty"
    planted.write_text(f"#!/bin/sh\ntouch {play.stage.root}/planted\n", "utf-8")
    planted.chmod(0o755)
    play.start({}, path=f"{folder}:/usr/bin:/bin")
    _, broken = play.run(READ, BREAK)
    assert "[ty: there is no program 'ty']" in broken
    assert not (play.stage.root / "planted").exists()


def test_servers_that_hang_and_die_cost_a_bounded_wait_and_are_named(play: Play) -> None:
    play.start({"hung": fake(on_start="hang"), "dead": fake(on_start="crash")}, wait=1)
    begun = time.monotonic()
    _, *told = play.run(READ, edit("main.py", "small: int", "wrong: int"), edit("main.py", "large: int", "big: int"))
    assert time.monotonic() - begun < WAIT
    for one in told:
        assert one.startswith("Edited main.py in 1 place:")
        assert "[hung: it has not started within " in one
        assert "[dead: it " in one
    (refused,) = play.run(call("diagnostics", path="README.md"))
    assert refused.startswith("Error: there is no language server for ")


def test_what_a_slow_server_says_joins_a_later_step_while_the_file_is_the_same(play: Play) -> None:
    play.start({"slow": fake(push="versions", late=4)}, wait=1)
    _, *told = play.run(READ, edit("main.py", "small: int", "wrong: int"))
    assert "[slow: no diagnostics within " in told[0] or "[slow: it has not started " in told[0]
    said: list[str] = []
    end = time.monotonic() + WAIT
    while not said and time.monotonic() < end:
        time.sleep(0.5)
        play.run({"text": "waiting"})
        said = [text_of(m["content"]) for m in play.mock.asked[-1].messages if "have said since" in str(m["content"])]
    (words,) = said
    assert "Diagnostics of main.py (slow): 1 error\nmain.py:3:1 error: " in words
    play.run(call("read", path="main.py"), edit("main.py", "wrong: int", "wrong2: int"))
    assert [m for m in play.mock.asked[-1].messages if "have said since" in str(m["content"])][1:] == []


def test_a_server_writes_nothing_and_leaves_nothing(play: Play) -> None:
    play.start({"fake": fake(on_start="children", push="versions", word=play.word)})
    play.run(READ, edit("main.py", "small: int", "wrong: int"))
    assert len(processes(play.word)) >= 3
    play.client.result("session/close", {"sessionId": play.session})
    assert gone(play.word)
    assert sorted(path.name for path in play.stage.project.iterdir()) == ["lib.py", "main.py"]


def test_a_server_ends_with_a_process_that_is_killed(play: Play) -> None:
    play.start({"fake": fake(on_start="children", push="versions", word=play.word)})
    play.run(READ, edit("main.py", "small: int", "wrong: int"))
    assert len(processes(play.word)) >= 3
    play.client.agent.signal("KILL")
    assert gone(play.word)


def processes(word: str) -> list[str]:
    """Return the processes that have the word in their command: a server, and what it started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words:
                found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def gone(word: str) -> bool:
    end = time.monotonic() + WAIT
    while processes(word) and time.monotonic() < end:
        time.sleep(0.05)
    return not processes(word)
