"""A scene for attacks: a workspace, what lies beside it, decoys, listeners, and a server of a chosen account."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PLACE = "/var/tmp"
"""Not /tmp: a box has its own one, which would hide what has to be refused."""

DISKS = ("/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0")
IDENTITIES = ("superuser", "user")


@lru_cache(maxsize=1)
def python_for_all() -> str | None:
    """Return a Python that any account can start."""
    for path in (sys.executable, "/usr/bin/python3"):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            argv = [path, "-I", "-S", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
            try:
                done = subprocess.run(argv, check=False, cwd="/", env={}, capture_output=True, **account("user"))
            except OSError:
                continue
            if done.returncode == 0:
                return path
    return None


def account(identity: str) -> dict[str, Any]:
    """Return what `subprocess` is told to start something as an account."""
    if identity == "superuser" or os.geteuid() != 0:
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def require(identity: str) -> None:
    """Skip what this machine cannot play."""
    if identity == "superuser" and os.geteuid() != 0:
        pytest.skip("only the superuser can play the superuser")
    if identity == "user" and python_for_all() is None:
        pytest.skip("no Python that another account can start")


@dataclass
class Stage:
    """Where it happens. `base` is readable by all, everything in it belongs to the identity."""

    identity: str
    base: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.base / "ws"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def home(self) -> Path:
        return self.base / "home"

    def environment(self) -> dict[str, str]:
        found = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(self.base / "code")}
        return found | ({"SSH_AUTH_SOCK": self.facts["socket"]} if "socket" in self.facts else {})

    def own(self) -> None:
        """Give everything in the base to the identity."""
        if account(self.identity):
            for folder, folders, names in os.walk(self.base):
                for name in (*folders, *names, "."):
                    os.lchown(os.path.join(folder, name), NOBODY, NOBODY)

    def start(self, kinds: Sequence[str], rows: Sequence[dict[str, Any]], **more: Any) -> subprocess.Popen[str]:
        """Start a server that runs the rows."""
        driver = self.base / "code/tests/security/driver.py"
        process = subprocess.Popen(
            [python_for_all() or sys.executable, str(driver)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=self.environment(),
            **account(self.identity),
        )
        assert process.stdin is not None
        asked = {"state": str(self.base / "state"), "kinds": list(kinds), "rows": list(rows), **more}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        return process

    def run(self, kinds: Sequence[str], rows: Sequence[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
        """Return the outcomes; skip when the box does not exist on this machine."""
        with self.start(kinds, rows, **more) as process:
            out, err = process.communicate(timeout=more.get("limit", 240))
        lines = out.splitlines()
        assert lines, err
        facts = json.loads(lines[0])
        if facts["sandbox"] == "none":
            pytest.skip(f"this machine does not give that box: {facts['passedOver']}")
        assert len(lines) == 2, err
        outcomes: list[dict[str, Any]] = json.loads(lines[1])
        return outcomes

    def row(self, command: str, **more: Any) -> dict[str, Any]:
        return {"workspace": str(self.workspace), "command": command, **more}


@contextmanager
def stage(identity: str) -> Iterator[Stage]:
    """Set up the scene and take it down."""
    require(identity)
    base = Path(tempfile.mkdtemp(prefix="acp-server-test-", dir=PLACE)).resolve()
    base.chmod(0o755)
    made = Stage(identity, base)
    try:
        for name in ("ws", "outside", "home", "state"):
            (base / name).mkdir()
        _copy_code(base / "code")
        made.own()
        yield made
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _copy_code(target: Path) -> None:
    """The checkout may be where another account cannot look."""
    for name in ("base", "sandbox"):
        shutil.copytree(
            ROOT / "acp_server" / name, target / "acp_server" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "acp_server/__init__.py", target / "acp_server")
    (target / "tests/security").mkdir(parents=True)
    for name in ("driver.py", "effects.py", "hostile.py"):
        shutil.copy(Path(__file__).with_name(name), target / "tests/security")
    for folder, folders, names in os.walk(target):
        for name in (*folders, *names, "."):
            path = os.path.join(folder, name)
            os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)


@contextmanager
def attacked(identity: str) -> Iterator[Stage]:
    """A stage with everything that the effects are aimed at."""
    with stage(identity) as made, ExitStack() as ends:
        workspace, outside = made.workspace, made.outside
        for name in (".git/hooks", ".git/objects", ".git/refs"):
            (workspace / name).mkdir(parents=True)
        (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (workspace / ".git/config").write_text("[core]\n")
        (made.home / ".ssh").mkdir()
        (made.home / ".ssh/id_rsa").write_text("PRIVATE")
        for name in ("existing", "victim", "prelinked"):
            (outside / name).write_text("seed")
        (workspace / "link_dir").symlink_to(outside)
        (workspace / "link_file").symlink_to(outside / "existing")
        (workspace / "link_ssh").symlink_to(made.home / ".ssh")
        os.link(outside / "prelinked", workspace / "prelinked")
        made.own()
        made.facts = _targets(made, ends)
        yield made


def _targets(made: Stage, ends: ExitStack) -> dict[str, Any]:
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"]
    who = account(made.identity)
    if who:
        sleeper[0] = python_for_all() or sys.executable
    server = subprocess.Popen(sleeper, env={"API_KEY": "planted-key"}, cwd="/", **who)
    decoy = subprocess.Popen(sleeper, env={}, cwd="/", **who)
    for process in (server, decoy):
        ends.callback(process.wait)
        ends.callback(process.kill)
    tcp = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = ends.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(0)
    by_path = ends.enter_context(socket.socket(socket.AF_UNIX))
    by_path.bind(f"{made.base}/daemon.sock")
    by_path.listen(8)
    os.chmod(f"{made.base}/daemon.sock", 0o777)
    abstract = ends.enter_context(socket.socket(socket.AF_UNIX))
    name = f"acp-server-test-{os.getpid()}"
    abstract.bind("\0" + name)
    abstract.listen(8)
    disk = next((path for path in DISKS if os.path.exists(path)), "/dev/none")
    numbers = os.stat(disk).st_rdev if os.path.exists(disk) else 0
    made.facts["udp_socket"] = udp
    return {
        "workspace": str(made.workspace),
        "outside": str(made.outside),
        "home": str(made.home),
        "server": server.pid,
        "decoy": decoy.pid,
        "tcp": tcp.getsockname()[1],
        "udp": udp.getsockname()[1],
        "socket": f"{made.base}/daemon.sock",
        "abstract": name,
        "disk": disk,
        "disk_numbers": [os.major(numbers), os.minor(numbers)],
        "udp_socket": udp,
    }


def fingerprint(folder: Path) -> dict[str, str]:
    """Return a hash by path of everything that a command could change there: bytes, mode, times, attributes."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        facts = path.lstat()
        parts = [facts.st_mode, facts.st_uid, facts.st_mtime_ns, facts.st_nlink if path.is_file() else 0]
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        attributes = os.listxattr(path, follow_symlinks=False)
        found[str(path.relative_to(folder))] = sha256(repr((parts, data, attributes)).encode()).hexdigest()[:12]
    return found
