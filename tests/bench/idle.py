"""The idle suite: what the process holds while nobody asks anything, and how it goes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median

from tests.bench.agent_process import AgentProcess
from tests.bench.figures import TARGETS, Figure, percentile
from tests.bench.readings import alive, cpu_us, family, memory_mb
from tests.bench.setting import RELAY, Setting, agent, model

SETTLED_US = 2000.0
PATIENCE_SECONDS = 10.0


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    with model() as env:
        ours = [_lives(setting, env, setting.deltas) for _ in range(setting.times(3))]
        relay = [_lives(RELAY, env, setting.deltas) for _ in range(setting.times(3))]
        ends = [_end_in_turn(setting, env) for _ in range(setting.times(5))]
        relay_ends = [_end_in_turn(RELAY, env) for _ in range(setting.times(5))]
    names = ("memory-initialize", "memory-idle", "memory-burst", "idle-cpu", "eof-idle")
    found = [
        Figure(TARGETS[name], median(life[n] for life in ours), median(life[n] for life in relay))
        for n, name in enumerate(names)
    ]
    return [*found, Figure(TARGETS["eof-turn"], percentile(ends, 95), percentile(relay_ends, 95))]


def _lives(setting: Setting, env: Mapping[str, str], deltas: int) -> tuple[float, float, float, float, float]:
    with agent(setting, env) as process:
        process.initialize()
        at_initialize = memory_mb(process.pid)
        session = process.new_session()
        _settle(process)
        idle = memory_mb(process.pid)
        process.prompt(session, f"bench burst {deltas} 0")
        _settle(process)
        after_burst = memory_mb(process.pid)
        before = cpu_us(process.pid)
        time.sleep(1)
        one_second = (cpu_us(process.pid) - before) / 1000
        return at_initialize, idle, after_burst, one_second, _end(process)


def _end_in_turn(setting: Setting, env: Mapping[str, str]) -> float:
    with agent(setting, env) as process:
        process.initialize()
        session = process.new_session()
        process.send(process.prompt_frame(session, "bench hang 1 0")[1])
        process.await_text()
        return _end(process)


def _end(process: AgentProcess) -> float:
    everybody = family(process.pid)
    closed, gone, status = process.end_input()
    if status != 0:
        raise RuntimeError(f"the agent left with status {status}")
    if left := [pid for pid in everybody if alive(pid)]:
        raise RuntimeError(f"the agent left processes behind: {left}")
    return (gone - closed) / 1e9


def _settle(process: AgentProcess) -> None:
    """Return when the process has used next to no processor time for a fifth of a second."""
    end = time.monotonic() + PATIENCE_SECONDS
    used = cpu_us(process.pid)
    while time.monotonic() < end:
        time.sleep(0.2)
        used, before = cpu_us(process.pid), used
        if used - before < SETTLED_US:
            return
    raise RuntimeError("the agent does not come to rest")
