"""A project with the file tools on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.file_rig import FileRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[FileRig]:
    made = FileRig(tmp_path)
    yield made
    made.close()
