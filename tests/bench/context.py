"""The context suite: what it costs to look, before each step, how full the window is, in a short and a long session.

Runs in this process; there is no other agent to measure.
"""

from __future__ import annotations

import asyncio
import random
import time
from statistics import median

from acp_server.agent.contexts import Context, Told
from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import Message, TextBlock, UserSource
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.events import APPEND
from acp_server.session.request_header import EpochHeader
from tests.bench.figures import TARGETS, Figure
from tests.bench.setting import Setting
from tests.support.windows import Bench, FileTools, WindowModel

SHORT, LONG = 50, 5_000
"""Nodes on the Surface."""
WORDS = "some words that were said " * 8
CONFIG = CallConfig("play", "m")


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    if not setting.scripted:
        return []
    few, many = (asyncio.run(_checks(nodes, setting.times(200))) for nodes in (SHORT, LONG))
    note = f"{LONG:,} nodes to {SHORT}, {median(many) / 1000:.0f} us to {median(few) / 1000:.0f} us"
    return [Figure(TARGETS["pre-step"], median(many) / median(few), 1.0, note)]


async def _checks(nodes: int, number: int) -> list[int]:
    """Return what each check takes in ns, another message having joined before each."""
    rng = random.Random(1)
    bench = Bench(WindowModel(10_000_000, rng, max_output=1000), FileTools(rng, longest=100))
    session, told = bench.session, Told(bench.session)
    header = EpochHeader(CONFIG, "Be brief.").to_json()
    session.append("turn/start", {"turn": 1})
    session.append("request/header", {"header": header, "reason": "initial"})
    contexts = (Context("git", 0, lambda _cwd: "branch main"),)
    for _ in range(nodes):
        _say(bench)
    await bench.keeper.before_step(CONFIG, 1, (), CancelToken())
    session.append("user/message", _json(told.update(contexts, bench.ids.new)), surface_op=APPEND)
    taken = list[int]()
    for _ in range(number):
        _say(bench)
        start = time.perf_counter_ns()
        await bench.keeper.before_step(CONFIG, 1, (), CancelToken())
        changed = told.update(contexts, bench.ids.new)
        taken.append(time.perf_counter_ns() - start)
        if changed is not None:
            raise AssertionError("nothing has changed")
    return taken


def _say(bench: Bench) -> None:
    message = Message(bench.ids.new(), "user", (TextBlock(WORDS),), UserSource())
    bench.session.append("user/message", message_to_json(message), surface_op=APPEND)


def _json(message: Message | None) -> dict[str, JsonValue]:
    if message is None:
        raise AssertionError("the state was not told")
    return message_to_json(message)
