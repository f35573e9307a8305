"""A project with the file tools on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_editor import FakeEditor
from tests.support.file_rig import FileRig


@pytest.fixture(params=["disk", "editor"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileRig]:
    """Give the tools over the disk alone, and with an editor that has nothing unsaved."""
    made = FileRig(tmp_path)
    if request.param == "editor":
        made.context.client = FakeEditor()
    yield made
    made.close()
