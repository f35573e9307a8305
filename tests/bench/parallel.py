"""The parallel suite: four sessions of one process that stream at the same time."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.figures import TARGETS, Figure, middle
from tests.bench.setting import RELAY, Setting, agent, model

SESSIONS = 4


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    deltas = max(2, setting.deltas // 5)
    with model() as env:
        ours, relay = _together(setting, env, deltas, setting.times(5)), _together(RELAY, env, deltas, setting.times(5))
    return [middle(TARGETS["parallel"], ours, relay)]


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
