"""The turn suite: what one turn costs beside the model's own time."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.figures import TARGETS, Figure, middle, percentile
from tests.bench.marks import requested, sent
from tests.bench.setting import RELAY, Setting, agent, model


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    rounds = setting.times(20)
    with model() as env:
        requests, answers = _turns(setting, env, rounds)
        relay_requests, relay_answers = _turns(RELAY, env, rounds)
        cancels, relay_cancels = _cancels(setting, env, rounds), _cancels(RELAY, env, rounds)
    return [
        middle(TARGETS["request"], requests, relay_requests),
        middle(TARGETS["answered"], answers, relay_answers),
        Figure(TARGETS["cancel"], percentile(cancels, 95), percentile(relay_cancels, 95)),
    ]


def _turns(setting: Setting, env: Mapping[str, str], rounds: int) -> tuple[list[float], list[float]]:
    requests, answers = [], []
    with agent(setting, env) as process:
        process.initialize()
        session = process.new_session()
        for number in range(rounds + 3):
            written, answered, pieces = process.prompt(session, "bench pace 5 5")
            if number >= 3:  # the first turns warm connections and imports
                requests.append((requested(pieces) - written) / 1e6)
                answers.append((answered - sent(pieces)[-1][1]) / 1e6)
    return requests, answers


def _cancels(setting: Setting, env: Mapping[str, str], rounds: int) -> list[float]:
    times = []
    with agent(setting, env) as process:
        process.initialize()
        session = process.new_session()
        for _ in range(rounds):
            process.updates.clear()
            request_id, line = process.prompt_frame(session, "bench hang 1 0")
            process.send(line)
            process.await_text()
            asked = process.notify("session/cancel", {"sessionId": session})
            answered, result = process.answer(request_id)
            if result.get("stopReason") != "cancelled":
                raise RuntimeError(f"a cancelled turn ended by {result.get('stopReason')}")
            times.append((answered - asked) / 1e6)
    return times
