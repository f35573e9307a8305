"""The stream suite: how late an update is, and how many of them go through."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.agent_process import AgentProcess
from tests.bench.figures import TARGETS, Figure, middle, percentile
from tests.bench.marks import sent
from tests.bench.model_server import filler
from tests.bench.readings import cpu_us
from tests.bench.setting import RELAY, SCRIPTED, Setting, agent, model


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    with model() as env:
        lags, relay_lags = _lags(setting, env), _lags(RELAY, env, setting)
        rates, costs = _burst(setting, env)
        relay_rates, relay_costs = _burst(RELAY, env, setting)
    found = [
        Figure(TARGETS["delta-p50"], percentile(lags, 50), percentile(relay_lags, 50)),
        Figure(TARGETS["delta-p95"], percentile(lags, 95), percentile(relay_lags, 95)),
        middle(TARGETS["burst-rate"], rates, relay_rates),
        middle(TARGETS["burst-cpu"], costs, relay_costs),
    ]
    return found + (_scripted(setting) if setting.scripted else [])


def _lags(setting: Setting, env: Mapping[str, str], amounts: Setting | None = None) -> list[float]:
    load = amounts or setting
    lags: list[float] = []
    with agent(setting, env) as process:
        process.initialize()
        process.prompt(process.new_session(), "bench pace 20 5")
        for _ in range(load.times(3)):
            pieces = process.prompt(process.new_session(), f"bench pace {load.paced} {load.gap_ms}")[2]
            marks = sent(pieces)
            if len(marks) != load.paced:
                raise RuntimeError(f"{len(marks)} of {load.paced} deltas came")
            lags.extend((read - moment) / 1e6 for read, moment in marks)
    return lags


def _burst(setting: Setting, env: Mapping[str, str], amounts: Setting | None = None) -> tuple[list[float], list[float]]:
    load = amounts or setting
    rates: list[float] = []
    costs: list[float] = []
    with agent(setting, env) as process:
        process.initialize()
        process.prompt(process.new_session(), f"bench burst {load.deltas} 0")
        for _ in range(load.times(5)):
            before = cpu_us(process.pid)
            session = process.new_session()
            pieces = process.prompt(session, f"bench burst {load.deltas} 0")[2]
            costs.append((cpu_us(process.pid) - before) / load.deltas)
            _check(pieces, load.deltas)
            rates.append(load.deltas / ((pieces[-1][0] - sent(pieces)[0][1]) / 1e9))
    return rates, costs


def _check(pieces: list[tuple[int, str]], deltas: int) -> None:
    words = "".join(text for _, text in pieces).count(" token ")
    if words != filler(deltas - 2).count(b" token "):
        raise RuntimeError(f"{words} of {deltas - 2} deltas came")


def _scripted(setting: Setting) -> list[Figure]:
    rates, costs = [], []
    with agent(setting, SCRIPTED) as process:
        process.initialize()
        for number in range(setting.times(5) + 1):
            rate, cost = _scripted_burst(process, setting.deltas)
            if number:
                rates.append(rate)
                costs.append(cost)
    return [middle(TARGETS["scripted-rate"], rates), middle(TARGETS["scripted-cpu"], costs)]


def _scripted_burst(process: AgentProcess, deltas: int) -> tuple[float, float]:
    session = process.new_session()
    before = cpu_us(process.pid)
    _, _, pieces = process.prompt(session, f"@script\nburst {deltas} token \n")
    cost = (cpu_us(process.pid) - before) / deltas
    words = "".join(text for _, text in pieces).count("token")
    if words != deltas:
        raise RuntimeError(f"{words} of {deltas} deltas came")
    return deltas / ((pieces[-1][0] - pieces[0][0]) / 1e9), cost
