"""The parallel suite: sessions of one process that stream at the same time: how long it takes, how late a delta is."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.agent_process import pieces
from tests.bench.figures import TARGETS, Figure, middle, percentile
from tests.bench.marks import sent
from tests.bench.setting import RELAY, Setting, agent, model

SESSIONS = 4
STREAMS = 16


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    deltas = max(2, setting.deltas // 5)
    with model() as env:
        ours, relay = _together(setting, env, deltas, setting.times(5)), _together(RELAY, env, deltas, setting.times(5))
        lags, relay_lags = _lags(setting, env, setting), _lags(RELAY, env, setting)
    late = Figure(TARGETS["parallel-p95"], percentile(lags, 95), percentile(relay_lags, 95))
    return [middle(TARGETS["parallel"], ours, relay), late]


def _lags(setting: Setting, env: Mapping[str, str], load: Setting) -> list[float]:
    """Return how late each delta was, in ms, with every turn's deltas all there and in their order."""
    lags: list[float] = []
    with agent(setting, env) as process:
        process.initialize()
        process.prompt(process.new_session(), "bench pace 20 5")
        for _ in range(load.times(3)):
            process.updates.clear()
            sessions = [process.new_session() for _ in range(STREAMS)]
            frames = [
                process.prompt_frame(session, f"bench pace {load.paced} {4 * load.gap_ms}") for session in sessions
            ]
            process.send(b"".join(line for _, line in frames))
            for request_id, _ in frames:
                process.answer(request_id)
            for session in sessions:
                own = [update for update in process.updates if session.encode() in update[1]]
                marks = sent(pieces(own))
                if len(marks) != load.paced or marks != sorted(marks, key=lambda mark: mark[1]):
                    raise RuntimeError(f"{len(marks)} of {load.paced} deltas came, or not in their order")
                lags.extend((read - moment) / 1e6 for read, moment in marks)
    return lags


def _together(setting: Setting, env: Mapping[str, str], deltas: int, rounds: int) -> list[float]:
    times = []
    with agent(setting, env) as process:
        process.initialize()
        process.prompt(process.new_session(), f"bench burst {deltas} 0")
        for _ in range(rounds):
            process.updates.clear()
            sessions = [process.new_session() for _ in range(SESSIONS)]
            frames = [process.prompt_frame(session, f"bench burst {deltas} 0") for session in sessions]
            sent = process.send(b"".join(line for _, line in frames))
            answers = [process.answer(request_id) for request_id, _ in frames]
            if {result.get("stopReason") for _, result in answers} != {"end_turn"}:
                raise RuntimeError("a turn did not end well")
            times.append((max(moment for moment, _ in answers) - sent) / 1e9)
    return times
