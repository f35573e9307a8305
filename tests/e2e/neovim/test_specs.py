"""The plugin's own specifications, run by Neovim itself (editor-clients/neovim/tests)."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.e2e.neovim.person import PLUGIN
from tests.e2e.stage import Stage
from tests.support.launch import COMMAND

TESTS = PLUGIN / "tests"
SPECS = sorted(path.name for path in TESTS.glob("*_spec.lua"))
SECONDS = 240


@pytest.mark.parametrize("name", SPECS)
def test_a_specification_holds(stage: Stage, nvim: str, name: str) -> None:
    env = {**stage.environment(), "ACP_COMMAND": json.dumps(COMMAND), "XDG_STATE_HOME": str(stage.root / "xdg")}
    done = subprocess.run(
        (nvim, "--clean", "-l", str(TESTS / "run.lua"), str(TESTS / name)),
        cwd=stage.project,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    closing = re.search(r"^(\d+) passed, 0 failed$", said, re.MULTILINE)
    assert closing, said
    assert int(closing[1]) == (TESTS / name).read_text("utf-8").count('\ntest("')


def test_no_module_is_long_and_each_stays_on_its_side() -> None:
    sources = {path: path.read_text("utf-8") for path in sorted(PLUGIN.rglob("*.lua"))}
    assert {path.name: text.count("\n") for path, text in sources.items() if text.count("\n") > 300} == {}
    for path, text in sources.items():
        assert text.startswith(("-- ", "---@meta")), f"{path.name} does not say what it owns"
        if path.parent.name == "ui":
            assert "vim.json" not in text, f"{path.name} draws, and reads JSON"
        elif path.parent.name in ("wire", "session"):
            assert "acp.ui" not in text, f"{path.name} speaks to the agent, and draws"
            assert "nvim_buf" not in text, f"{path.name} speaks to the agent, and draws"
