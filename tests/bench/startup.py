"""The startup suite: from spawning the process to the first words."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from statistics import median

from tests.bench.figures import TARGETS, Figure, middle
from tests.bench.setting import BARE, RELAY, SCRIPTED, Setting, agent, model


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures; rounds of everything compared are interleaved."""
    with model() as env:
        return [*_initialize(setting, env), *_sessions(setting, env), *_first_content(setting, env)]


def _initialize(setting: Setting, env: Mapping[str, str]) -> list[Figure]:
    bare, ours, relay = [], [], []
    _spawned(setting, env)  # byte code is written once, unmeasured
    for _ in range(setting.times(15)):
        bare.append(_bare())
        ours.append(_spawned(setting, env))
        relay.append(_spawned(RELAY, env))
    least = f"{median(ours):.0f} ms, least {min(ours):.0f}; bare {median(bare):.0f}, least {min(bare):.0f}"
    return [Figure(TARGETS["initialize"], median(ours) / median(bare), median(relay) / median(bare), least)]


def _bare() -> float:
    start = time.monotonic_ns()
    with subprocess.Popen([*BARE, "-c", "pass"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.wait()
        return (time.monotonic_ns() - start) / 1e6


def _spawned(setting: Setting, env: Mapping[str, str]) -> float:
    with agent(setting, env) as process:
        return (process.initialize() - process.started) / 1e6


def _sessions(setting: Setting, env: Mapping[str, str]) -> list[Figure]:
    first, later = _session_times(setting, env)
    relay_first, relay_later = _session_times(RELAY, env, setting.rounds)
    return [
        middle(TARGETS["new-first"], first, relay_first),
        middle(TARGETS["new-later"], later, relay_later),
    ]


def _session_times(
    setting: Setting, env: Mapping[str, str], rounds: int | None = None
) -> tuple[list[float], list[float]]:
    first: list[float] = []
    later: list[float] = []
    for _ in range(rounds or setting.times(7)):
        with agent(setting, env) as process:
            initialized = process.initialize()
            times = [process.call("session/new", {"cwd": str(process.place), "mcpServers": []}) for _ in range(6)]
            first.append((times[0][1] - initialized) / 1e6)
            later.extend((answered - sent) / 1e6 for sent, answered, _ in times[1:])
    return first, later


def _first_content(setting: Setting, env: Mapping[str, str]) -> list[Figure]:
    rounds = range(setting.times(7))
    found = []
    if setting.scripted:
        times = [_to_content(setting, SCRIPTED, "@script\nsay hello\n") for _ in rounds]
        found.append(middle(TARGETS["first-scripted"], times))
    ours, relay = [], []
    for _ in rounds:
        ours.append(_to_content(setting, env, "bench pace 1 0"))
        relay.append(_to_content(RELAY, env, "bench pace 1 0"))
    return [*found, middle(TARGETS["first-http"], ours, relay)]


def _to_content(setting: Setting, env: Mapping[str, str], text: str) -> float:
    with agent(setting, env) as process:
        process.initialize()
        session = process.new_session()
        process.send(process.prompt_frame(session, text)[1])
        return (process.await_text() - process.started) / 1e6
