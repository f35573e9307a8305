"""Where the story is played: code-server from npm, the packaged extension in it, a project, and settings."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support import node

CODE_SERVER: Final = "code-server@4.139.1"
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
SETTINGS: Final[Mapping[str, object]] = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "files.autoSave": "off",
    "git.openRepositoryInParentFolders": "never",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "window.commandCenter": False,
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.layoutControl.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}
PROJECT: Final[Mapping[str, str]] = {
    "README.md": "# Invoices\n\nLines, totals and tax.\n",
    "src/invoice.py": '''"""Invoices: lines, totals, tax."""

from dataclasses import dataclass


@dataclass
class Line:
    """One position of an invoice."""

    name: str
    amount: int
    price: float


def total(lines: list[Line]) -> float:
    """Return what all lines cost together."""
    result = 0.0
    for line in lines:
        result += line.price
    return result
''',
    "data/rates.json": '{"standard": 0.19 "reduced": 0.07}\n',
    "src/tax.py": "RATE = 0.19\n\n\ndef tax(total: float) -> float:\n    return round(total * RATE, 2)\n",
}


def run(*command: str, cwd: Path, seconds: int = 600) -> str:
    """Run a command of the set-up to its end; return what it printed."""
    done = subprocess.run(
        command, cwd=cwd, env=node.environment(), capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {(done.stdout + done.stderr)[-800:]}")
    return done.stdout


def chromium() -> str:
    """Return the browser, which Debian's package brings."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit("Chromium is not here: install Debian's package chromium.")
    return found


class Place:
    """A folder with all that one run of the editor needs; what npm brings is kept between runs."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.root = folder / "tools", folder / "run"
        self.project, self.state = self.root / "invoices", self.root / "state"
        self.bin = self.root / "home" / ".local" / "bin"
        self.extensions, self.user = self.root / "extensions", self.root / "user"
        shutil.rmtree(self.root, ignore_errors=True)
        for path in (self.tools, self.state, self.extensions, self.user / "User", self.user / "Machine", self.bin):
            path.mkdir(parents=True, exist_ok=True)
        for name, text in PROJECT.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text, "utf-8")

    @property
    def entry(self) -> Path:
        return self.tools / "node_modules" / "code-server" / "out" / "node" / "entry.js"

    def install(self) -> None:
        """Install code-server, without compiling anything, then the packaged extension."""
        npm, vscode = str(node.program("npm")), self.tools / "node_modules" / "code-server" / "lib" / "vscode"
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
        if not (vscode / "node_modules").is_dir():
            (self.tools / "package.json").write_text('{"private": true}', "utf-8")
            run(npm, "install", *quiet, CODE_SERVER, cwd=self.tools)
            run(npm, "install", *quiet, "--omit=dev", cwd=vscode)
        node.modules(node.VSCODE)
        run(npm, "run", "package", cwd=node.VSCODE)
        package = node.VSCODE / "dist" / "acp-server.vsix"
        run(*self._code_server("--install-extension", str(package)), cwd=self.root)

    def settings(self, of_machine: Mapping[str, object]) -> None:
        """Write the person's settings, and those of the machine that the editor runs on."""
        (self.user / "User" / "settings.json").write_text(json.dumps(SETTINGS, indent=1), "utf-8")
        (self.user / "Machine" / "settings.json").write_text(json.dumps(of_machine, indent=1), "utf-8")

    def start(self, port: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start the editor; return once it answers."""
        command = self._code_server("--auth", "none", "--bind-addr", f"127.0.0.1:{port}", str(self.project))
        env = {**node.environment(), **environment, "HOME": str(self.root / "home"), "ACP_SERVER_HOME": str(self.state)}
        env.pop("VSCODE_IPC_HOOK_CLI", None)
        log = (self.root / "code-server.log").open("wb")
        process = subprocess.Popen(command, cwd=self.root, env=env, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    return process
            time.sleep(0.2)
        raise SystemExit(f"code-server did not start: see {self.root / 'code-server.log'}")

    def _code_server(self, *arguments: str) -> tuple[str, ...]:
        return (
            str(node.program("node")),
            str(self.entry),
            *("--config", str(self.root / "config.yaml"), "--disable-telemetry", "--disable-update-check"),
            *("--disable-workspace-trust", "--extensions-dir", str(self.extensions), "--user-data-dir", str(self.user)),
            *arguments,
        )


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def server_command() -> str:
    """Return the server's command beside this interpreter."""
    return os.fspath(Path(sys.executable).parent / "acp-server")
