"""`python -m tests.conformance.public FOLDER` installs two public agents there and judges each by the kit.

They start slowly, have no model here, and are not ours: their tables are printed and decide nothing.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.__main__ import main as judge
from tests.support import node

AGENTS = {
    "@agentclientprotocol/claude-agent-acp": ("0.101.0", "dist/index.js"),
    "@google/gemini-cli": ("0.61.0", "bundle/gemini.js --acp"),
}
"""npm package -> version, and what Node runs of it."""
SWITCHES = ("--jobs", "2", "--seconds", "25")
INSTALL_SECONDS = 900


def install(folder: Path) -> None:
    """Put the packages into that folder; raise CalledProcessError when npm cannot."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: version for name, (version, _) in AGENTS.items()}
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": wanted}), "utf-8")
    switches = ("--no-package-lock", "--ignore-scripts", "--no-progress", "--loglevel=error")
    command = (str(node.program("npm")), "install", *switches)
    subprocess.run(command, cwd=folder, env=node.environment(), timeout=INSTALL_SECONDS, check=True)


def main(words: Sequence[str]) -> int:
    if len(words) != 1:
        print("usage: python -m tests.conformance.public FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0]).resolve()
    install(folder)
    for name, (_, script) in AGENTS.items():
        print(f"\n{name}", flush=True)
        path, *switches = shlex.split(script)
        command = (str(node.program("node")), str(folder / "node_modules" / name / path), *switches)
        judge(["--agent", shlex.join(command), *SWITCHES])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
