"""Plays the story of the VS Code extension: `python -m tests.editors.vscode [--pictures FOLDER] [--folder FOLDER]`.

Prints a line a step and the figures; the exit status is 0 when every step was seen and every figure is in its bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.editors.vscode import floor, past, place
from tests.editors.vscode.model import StoryModel
from tests.support import node
from tests.support.trace import Obj

HERE = Path(__file__).resolve().parent
TURNS = 250
MODEL = "anthropic/claude-sonnet-5-5"
LIMIT_SECONDS = 2400
BOUNDS: dict[tuple[str, ...], int] = {
    ("firstTextMs", "median"): 150,
    ("streaming", "longestTaskMs"): 100,
    ("scrolling", "longestTaskMs"): 100,
}
"""Milliseconds that a figure may have."""


def play(stage: place.Place, pictures: Path | None) -> Obj:
    """Play the story in a place that is installed; return what the player told."""
    stage.settings({"acpServer.command": "acp-server-of-the-story"})
    past.make(stage.project, stage.state, TURNS)
    port = place.free_port()
    with StoryModel() as model:
        editor = stage.start(
            port, {**model.environment("anthropic"), "ACP_SERVER_MODEL": "anthropic/claude-sonnet-5-5"}
        )
        try:
            given = {
                "extension": str(node.VSCODE),
                "chromium": place.chromium(),
                "url": f"http://127.0.0.1:{port}/?folder={stage.project}",
                "size": {"width": 1280, "height": 800},
                "command": place.server_command(),
                "pictures": str(pictures) if pictures else None,
                **{name: str(getattr(stage, name)) for name in ("root", "project", "state", "user")},
            }
            command = (str(node.program("node")), str(HERE / "story.mjs"), json.dumps(given))
            least = floor.measure(stage.project, stage.root / "floor", model)
            done = subprocess.run(
                command, env=node.environment(), stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS, check=False
            )
        finally:
            os.killpg(editor.pid, signal.SIGTERM)
            editor.wait(30)
    if not done.stdout:
        raise SystemExit("the player failed")
    told: Obj = json.loads(done.stdout)
    told["figures"]["firstTextToABareClientMs"] = least
    told["figures"]["load"] = os.getloadavg()[0]
    return told


def verdict(told: Obj) -> bool:
    """Print what was missed and the figures; return whether all is well. Steps that were seen are on standard error."""
    for step in told["steps"]:
        if not step["ok"]:
            print(f"MISSED {step['name']}: {step['why']}")
    print(json.dumps(told["figures"], indent=1))
    late = [
        (path, value)
        for path, bound in BOUNDS.items()
        if (value := _at(told["figures"], path)) is None or value > bound
    ]
    for path, value in late:
        print(f"MISSED {'.'.join(path)}: {value} ms, at most {BOUNDS[path]}")
    return not late and "error" not in told and all(step["ok"] for step in told["steps"])


def _at(figures: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        figures = figures.get(name, {})
    return figures if isinstance(figures, int) else None


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.editors.vscode")
    parser.add_argument("--pictures", type=Path, help="where pictures go; none are kept without it")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "acp-server-vscode")
    asked = parser.parse_args()
    if asked.pictures:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    stage = place.Place(asked.folder.resolve())
    stage.install()
    return 0 if verdict(play(stage, asked.pictures and asked.pictures.resolve())) else 1


if __name__ == "__main__":
    sys.exit(main())
