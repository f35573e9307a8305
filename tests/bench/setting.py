"""What a run measures: the agent's command, its environment, how often and how much; and the servers that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.agent_process import AgentProcess
from tests.support.launch import source_path

HERE = Path(__file__).parent
BARE = (sys.executable, "-S", "-E")


SCRIPT = Path(sys.executable).with_name("acp-server")
SCRIPTED: dict[str, str] = {"ACP_SERVER_MODEL": "scripted/demo"}


def own_command() -> tuple[str, ...]:
    """Return the installed command, as an editor starts it; the module where this environment has it not installed."""
    return (str(SCRIPT), "acp") if SCRIPT.exists() else (sys.executable, "-m", "acp_server", "acp")


@dataclass(frozen=True, slots=True)
class Setting:
    """One contestant and the amounts of a run. `scripted` says that it has the built-in scripted model."""

    argv: tuple[str, ...]
    rounds: int | None = None
    scripted: bool = True
    extra: Mapping[str, str] = field(default_factory=dict)
    deltas: int = 5000
    paced: int = 300
    gap_ms: int = 5
    sessions: int = 10_000
    messages: int = 5_000
    events: int = 100_000
    many_events: int = 1_000_000
    batches: int = 10_000
    files: int = 200_000

    def times(self, usual: int) -> int:
        """Return how many rounds to make where `usual` is the custom."""
        return self.rounds or usual


RELAY = Setting((*BARE, str(HERE / "relay_agent.py")), scripted=False)


def environment(place: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return a bare environment whose home is `place`."""
    home = {"HOME": str(place), "ACP_SERVER_HOME": str(place / "state"), "LANG": "C.UTF-8"}
    return {"PATH": os.environ["PATH"], **source_path(), **home, **extra}


@contextmanager
def agent(setting: Setting, model_env: Mapping[str, str]) -> Iterator[AgentProcess]:
    """Yield a fresh process of the agent in a fresh home, killed at the end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        with AgentProcess(setting.argv, environment(place, {**model_env, **setting.extra}), place) as process:
            yield process


@contextmanager
def model() -> Iterator[dict[str, str]]:
    """Yield what the environment has to say to reach the mock model, which runs as long as the block."""
    argv = [sys.executable, str(HERE / "model_server.py")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        yield {
            "ACP_SERVER_MODEL": "openai/mock",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_API_KEY": "bench",
        }
        assert server.stdin is not None
        server.stdin.close()
        server.wait(10)
