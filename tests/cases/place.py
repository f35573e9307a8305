"""The scratch directory of one run of a case: project, state, home, and all that must stay as it was."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from tests.support.launch import environment
from tests.support.process import MARK
from tests.support.trace import Obj

CHANGEABLE = ("project", "project2", "state", "home", "tmp", "runner")
"""Folders that a run may change; the others, `outside` and `launch`, may not be touched."""


class Place:
    """Made with what the case asks for; `remove` takes it away."""

    def __init__(self, case: Obj, model: str = "openai/mock") -> None:
        self.root = Path(tempfile.mkdtemp(prefix="case-")).resolve()
        self.mark, self.model = uuid.uuid4().hex, model
        for name in (*CHANGEABLE, "outside", "launch"):
            (self.root / name).mkdir()
        self.project, self.state = self.root / "project", self.root / "state"
        self.outside, self.launch = self.root / "outside", self.root / "launch"
        (self.outside / "trap.txt").write_text("outside\n", "utf-8")
        for name, content in case.get("files", {}).items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(repeat(content).encode())
        if "settings" in case:
            lines = [f'[models."{model}"]', *(f"{key} = {value}" for key, value in case["settings"].items())]
            (self.state / "settings.toml").write_text("\n".join(lines) + "\n", "utf-8")
        self.before = self.listing()

    def env(self, case: Obj, llm: Mapping[str, str]) -> dict[str, str]:
        """Return the agent's environment; `llm` points it at the mock."""
        env = environment(self.root, self.model, {**llm, MARK: self.mark, **case.get("env", {})})
        for name in case.get("env_without", []):
            env.pop(name, None)
        return env

    def stderr(self, proc: int) -> Path:
        return self.root / "runner" / f"stderr{proc}"

    def fill(self, text: str) -> str:
        """Put the paths in where their words stand."""
        for word, path in (("@CWD2@", self.root / "project2"), ("@CWD@", self.project), ("@OUTSIDE@", self.outside)):
            text = text.replace(word, str(path))
        return text.replace("@OUTSIDE_NAME@", "outside")

    def listing(self) -> dict[str, str]:
        """Return path -> kind and content of everything that nobody may touch."""
        found: dict[str, str] = {}
        for folder, dirs, files in os.walk(self.root):
            here = Path(folder)
            if here == self.root:
                dirs[:] = [d for d in dirs if d not in CHANGEABLE]
            for path in (here / name for name in dirs + files):
                found[str(path.relative_to(self.root))] = _shape(path)
        return found

    def strayed(self) -> list[str]:
        """Return what was changed, made or removed there."""
        after = self.listing()
        return sorted(p for p in {*after, *self.before} if after.get(p) != self.before.get(p))

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


def _shape(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    return "dir" if path.is_dir() else f"file {path.read_bytes()!r}"


def repeat(text: str) -> str:
    """Return WORD N times for `@repeat:WORD*N`; any other text is itself."""
    if not text.startswith("@repeat:"):
        return text
    word, count = text.removeprefix("@repeat:").rsplit("*", 1)
    return word * int(count)
