"""Runs the wire cases: `python -m tests.cases.wire`.

Each case is judged twice: at the decoder, and through the agent, whose mock model answers with the case's bytes whole,
in small pieces, and cut as the case says. Nothing is executed: every permission question is refused.
"""

from __future__ import annotations

import email.utils
import itertools
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cases import decode, report
from tests.cases.client import CaseClient
from tests.cases.options import Options, parser, read, refuse_what_is_lacking, shape
from tests.cases.report import SkipError
from tests.cases.wire_rules import LATER, Seen, judge, partial
from tests.support.client import BrokenError
from tests.support.llm_script import Playback, Script
from tests.support.trace import Obj

PROVIDERS = {"chat": "openai", "responses": "openai-responses", "anthropic": "anthropic"}
"""Protocol -> the provider of ACP_SERVER_MODEL that speaks it."""

BY_BYTE = 6000
"""A body of fewer bytes is also played byte by byte."""

WHOLE_FROM = "W300"
"""From this id on, our own agent is sent the body whole: pieces are put together below, where the decoder is judged."""

SMALL = 997
FEW = 10
LONG_RETRY_S = 2


def run(case: Obj, folder: Path, options: Options, notes: list[str]) -> list[str]:
    """Return what is wrong at the decoder and through the agent."""
    wrong = [f"decoder: {why}" for why in decode.judge(case, folder)] if options.own else []
    try:
        _refuse(case, options)
    except SkipError:
        if wrong:
            return wrong
        raise
    return wrong + _through_the_agent(case, folder, options, notes)


def _refuse(case: Obj, options: Options) -> None:
    """Raise SkipError for a case that cannot be played through this agent."""
    refuse_what_is_lacking(case, options)
    if case["protocol"] != "chat" and not options.own:
        raise SkipError(f"{case['protocol']} is not played through this agent")


def _through_the_agent(case: Obj, folder: Path, options: Options, notes: list[str]) -> list[str]:
    body = (folder / case["body"]).read_bytes()
    if len(body) != case["body_bytes"]:
        return [f"the body has {len(body)} bytes, not {case['body_bytes']}"]
    chosen = ways(case, body)
    for name, pieces in chosen[:1] if options.own and case["id"] >= WHOLE_FROM else chosen:
        wrong = _run_once(case, pieces, options, notes)
        if wrong:
            return [f"{name}: {why}" for why in wrong]
    return []


def ways(case: Obj, body: bytes) -> list[tuple[str, list[bytes]]]:
    """Return the ways to send the body: whole, in small pieces (bytes where it is short), and cut as the case says."""
    size = 1 if len(body) < BY_BYTE else SMALL
    small = [body[n : n + size] for n in range(0, len(body), size)]
    out = [("whole", [body]), (f"{size} byte a read", small)]
    if case.get("cuts"):
        edges = [0, *case["cuts"], len(body)]
        out.append(("cut", [body[a:b] for a, b in itertools.pairwise(edges)]))
    return out


def playback(case: Obj, pieces: list[bytes]) -> Playback:
    """Return the raw answer, with the dates of this moment."""

    def date(found: re.Match[str]) -> str:
        return email.utils.formatdate(time.time() + int(found[1] or 0), usegmt=True)

    headers = {key: re.sub(r"@NOW(?:\+(\d+))?", date, value) for key, value in case["http"]["headers"].items()}
    pause = 0.005 if len(pieces) < FEW else 0.0
    return Playback(pieces, case["http"]["status"], headers, case["ending"], pause)


def _run_once(case: Obj, pieces: list[bytes], options: Options, notes: list[str]) -> list[str]:
    again = case["expect"].get("error", {}).get("partial_text", "") + LATER
    script = Script([playback(case, pieces), {"text": again, "times": 20}])
    one = CaseClient(options, script, case, "reject_once", PROVIDERS[case["protocol"]])
    try:
        one.start()
        return _drive(case, one) + one.finish()
    except BrokenError as why:
        return [str(why)]
    finally:
        one.close(notes)


def _drive(case: Obj, one: CaseClient) -> list[str]:
    error = case["expect"].get("error", {})
    ident = one.client.ask(one.session, "go")
    if case["ending"] == "stall" or error.get("retry_after_s", 0) >= LONG_RETRY_S:
        one.trace.wait(lambda: one.mock.asked, 10)
        early = one.client.wait(ident, 1.0)
        if len(one.mock.asked) > 1:
            return ["asked again at once, before Retry-After or an idle limit had passed"]
        if early is None:
            return _cancelled(one, ident, error)
    answer = one.client.answer(ident, 60)
    turn = one.client.turn(ident)
    thought = one.trace.turn_text(turn, "agent_thought_chunk")
    return judge(case["expect"], Seen(answer, one.client.said(turn), thought, list(one.mock.asked)))


def _cancelled(one: CaseClient, ident: int, error: Obj) -> list[str]:
    """Cancel the turn that waits: it ends at once, and what was shown stays as it was."""
    one.client.notify("session/cancel", {"sessionId": one.session})
    answer = one.client.wait(ident, 3.0)
    if answer is None or (answer.get("result") or {}).get("stopReason") != "cancelled":
        return [f"cancel while the model is awaited gives {answer}"]
    return partial(error, one.client.said(one.client.turn(ident)))


def main(words: Sequence[str] | None = None) -> int:
    given = parser("wire").parse_args(words)
    options, folder = read(given), given.cases
    cases = report.load(folder, given.only)
    judge_case = shape(folder, "wire")
    return report.run_all(cases, lambda case, notes: run(case, folder, options, notes), judge_case, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
