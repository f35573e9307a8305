"""How tests start the server: its command and an environment with nothing in it that is not named here."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

COMMAND = (sys.executable, "-m", "acp_server", "acp")
"""Serves ACP on stdio; run by this interpreter, so that the tested package is the one that tests import."""

SCRIPTED = "scripted/demo"
"""The built-in model that plays the script of a prompt (docs/llm.md)."""


def source_path() -> dict[str, str]:
    """Return the variable that lets a child in any folder import this checkout, or nothing when it is installed."""
    try:
        importlib.metadata.distribution("acp-server")
    except importlib.metadata.PackageNotFoundError:
        return {"PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "editor-clients" / "python")))}
    return {}


def environment(root: Path, model: str | None = SCRIPTED, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a minimal environment whose state, home and temporary folder lie below `root`; they are made."""
    places = {"ACP_SERVER_HOME": root / "state", "HOME": root / "home", "TMPDIR": root / "tmp"}
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", **source_path()}
    env.update({name: str(place) for name, place in places.items()})
    if model is not None:
        env["ACP_SERVER_MODEL"] = model
    return env | dict(more or {})
