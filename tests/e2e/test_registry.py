"""The entry of the ACP registry, and the registry's own checks of an agent, made on a wheel that is built here.

What the registry asks: an entry whose fields are what they have to be, a pinned version, an icon of one colour; an
agent that answers `initialize` in its first line in an empty home and offers a login, and ends well without input.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.support import schema
from tests.support.launch import REPOSITORY
from tests.support.trace import Obj

ENTRY = REPOSITORY / "editor-clients" / "registry" / "acp-server"
PROJECT: Obj = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
BUILD_SECONDS = 120
FIRST_LINE_SECONDS = 60
CAPABILITIES: Obj = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
RULES: Obj = {
    "type": "object",
    "required": ["id", "name", "version", "description", "distribution"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "name": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "description": {"type": "string", "minLength": 1},
        "repository": {"type": "string", "format": "uri"},
        "website": {"type": "string", "format": "uri"},
        "authors": {"type": "array", "items": {"type": "string"}},
        "license": {"type": "string"},
        "distribution": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                "uvx": {
                    "type": "object",
                    "required": ["package"],
                    "additionalProperties": False,
                    "properties": {
                        "package": {"type": "string"},
                        "cmd": {"type": "string"},
                        "args": {"type": "array", "items": {"type": "string"}},
                        "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                },
            },
        },
    },
    "additionalProperties": False,
}


def entry() -> Obj:
    found: Obj = json.loads((ENTRY / "agent.json").read_text("utf-8"))
    return found


def test_the_entry_keeps_the_rules() -> None:
    assert schema.validator(RULES)(entry()) == []
    assert schema.validator(RULES)({**entry(), "id": "Acp Server"}) != []
    assert entry()["id"] == ENTRY.name
    assert sorted(path.name for path in ENTRY.iterdir()) == ["agent.json", "icon.svg"]


def test_the_version_is_pinned_and_the_packages_own() -> None:
    facts = entry()
    assert (facts["name"], facts["version"], facts["license"]) == (
        PROJECT["name"],
        PROJECT["version"],
        PROJECT["license"],
    )
    assert facts["distribution"]["uvx"]["package"] == f"{PROJECT['name']}=={PROJECT['version']}"


def test_the_icon_is_small_square_and_of_the_readers_colour() -> None:
    text = (ENTRY / "icon.svg").read_text("utf-8")
    root = ET.fromstring(text)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("16", "16", "0 0 16 16")
    colours = re.findall(r'(?:fill|stroke|color|stop-color)="([^"]*)"', text)
    assert set(colours) <= {"none", "currentColor"}
    assert "currentColor" in colours
    assert not re.search(r"<script|<image|href|style=|#[0-9a-fA-F]{3}", text)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package, from a wheel that was built from this checkout; no network is used."""
    root = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(root), str(REPOSITORY)]
    subprocess.run(built, check=True, capture_output=True, timeout=BUILD_SECONDS)
    (wheel,) = root.glob(f"acp_server-{PROJECT['version']}-*.whl")
    target = root / "installed"
    install = [*pip, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=BUILD_SECONDS)
    return target


def environment(installed: Path, home: Path) -> dict[str, str]:
    """Return what the registry's checks give: a fresh home, a dumb terminal, and here the place of the wheel."""
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "PYTHONPATH": str(installed)}


def command(installed: Path) -> list[str]:
    """Return the command that the entry makes of the package, as `uvx` starts it."""
    uvx = entry()["distribution"]["uvx"]
    script = uvx.get("cmd") or uvx["package"].partition("==")[0]
    return [str(installed / "bin" / script), *uvx.get("args", ())]


def test_the_wheel_holds_the_package_and_runs_by_itself(installed: Path, tmp_path: Path) -> None:
    words = "import acp_server, acp_server_client; print(acp_server.__file__, acp_server.__version__)"
    env = environment(installed, tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-c", words], env=env, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout.split() == [str(installed / "acp_server" / "__init__.py"), PROJECT["version"]]
    assert not (installed / "tests").exists()


def test_the_first_line_answers_initialize_and_offers_a_login(installed: Path, tmp_path: Path) -> None:
    env = environment(installed, tmp_path / "home")
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": 1,
            "clientInfo": {"name": "ACP Registry Validator", "version": "1"},
            "clientCapabilities": CAPABILITIES,
        },
    }
    done = subprocess.run(
        command(installed),
        input=json.dumps(asked) + "\n",
        env=env,
        capture_output=True,
        text=True,
        timeout=FIRST_LINE_SECONDS,
        check=False,
        cwd=tmp_path,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert (done.returncode, done.stderr, answer["id"], "error" in answer) == (0, "", 1, False)
    kinds = {method.get("type", "agent") for method in answer["result"]["authMethods"]}
    assert kinds & {"agent", "terminal"}
    assert schema.stable().frame(answer, "initialize") == []


def test_without_input_it_ends_well(installed: Path, tmp_path: Path) -> None:
    env = environment(installed, tmp_path / "home")
    done = subprocess.run(
        command(installed),
        stdin=subprocess.DEVNULL,
        env=env,
        capture_output=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_the_registry_probes_each_day_is_answered(installed: Path, tmp_path: Path) -> None:
    """Without a key a new session wants a login; all else has a result or a code of the protocol."""
    here = {"cwd": str(tmp_path), "mcpServers": []}
    probes: list[tuple[str, Obj]] = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}),
        ("session/new", here),
        ("session/list", {}),
        ("session/fork", {"sessionId": "nobody", **here}),
        ("session/resume", {"sessionId": "nobody", **here}),
        ("session/stop", {"sessionId": "nobody"}),
        ("session/set_model", {"sessionId": "nobody", "modelId": "m"}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params})
        for n, (method, params) in enumerate(probes)
    ]
    done = subprocess.run(
        command(installed),
        input="\n".join(lines) + "\n",
        env=environment(installed, tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    answers: dict[int, Any] = {
        value["id"]: value for value in map(json.loads, done.stdout.splitlines()) if "id" in value
    }
    outcomes = {
        method: answers[n]["error"]["code"] if "error" in answers[n] else "result"
        for n, (method, _) in enumerate(probes)
    }
    assert outcomes == {
        "initialize": "result",
        "session/new": -32000,
        "session/list": "result",
        "session/fork": -32601,
        "session/resume": -32002,
        "session/stop": -32601,
        "session/set_model": -32002,
    }
