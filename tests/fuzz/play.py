"""Plays fuzzed lines to one live server and counts its answers.

The server has to stay alive, to write nothing but frames of the protocol, and to answer each sound request once.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

from tests.fuzz.lines import Known, Line, generate
from tests.support import invariants, launch, schema
from tests.support.client import BrokenError, Client, Launch
from tests.support.process import MARK, left_behind
from tests.support.trace import Trace, id_key

Source: TypeAlias = Callable[[int, int, Known], Iterator[Line]]
"""Gives so many lines from a seed."""
ROUND = 250
"""Lines between two looks at the answers."""

ROUND_SECONDS = 30.0
WRONG_SHOWN = 5
MOST_MIB = 300


@dataclass(slots=True)
class Tally:
    """What came of a run."""

    lines: int = 0
    sound: int = 0
    frames: int = 0
    peak_mib: float = 0.0
    seconds: float = 0.0
    longest: float = 0.0
    """Seconds of the round that took longest, from its first byte to the last answer that was waited for."""
    wrong: list[str] = field(default_factory=list)

    def summary(self) -> str:
        rate = self.lines / self.seconds if self.seconds else 0
        return (
            f"{self.lines} lines, {self.sound} of them sound requests, {self.frames} frames back, "
            f"{self.seconds:.1f} s, at most {self.longest:.2f} s a round, "
            f"{rate:.0f} lines/s, peak {self.peak_mib:.0f} MiB, {len(self.wrong)} wrong"
        )


def play(count: int, seed: int, command: Sequence[str] = launch.COMMAND, source: Source = generate) -> Tally:
    """Return the tally of a run; it ends at the first round with something wrong."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        root = Path(folder)
        (root / "project").mkdir()
        mark = f"fuzz-{seed}-{time.monotonic_ns()}"
        environment = launch.environment(root, more={MARK: mark})
        client = Client(Launch(command, environment, root, root))
        try:
            tally = _play(client, root / "project", source, count, seed)
            tally.wrong += [f"left running: {words}" for words in left_behind(mark)]
        finally:
            client.close()
        return tally


def _play(client: Client, project: Path, source: Source, count: int, seed: int) -> Tally:
    tally, begun = Tally(), time.monotonic()
    random = Random(seed)
    client.start()
    client.initialize()
    known = Known(client.new_session(project), str(project))
    for number, lines in enumerate(_rounds(source(count, seed, known))):
        random.shuffle(lines)
        seen, asked = len(client.trace.frames), time.monotonic()
        wrong = _round(client, lines, random) + judge(client.trace, seen, lines)
        tally.lines += len(lines)
        tally.longest = max(tally.longest, time.monotonic() - asked)
        tally.sound += sum(line.ident is not None for line in lines)
        if wrong:
            tally.wrong = [f"seed {seed}, round {number}: {why}" for why in wrong[:WRONG_SHOWN]]
            break
    tally.frames, tally.seconds = len(client.trace.frames), time.monotonic() - begun
    if client.agent.popen.poll() is None:
        tally.peak_mib = client.agent.peak_rss_mib()
    tally.wrong += [] if tally.wrong else _end(client)
    if tally.peak_mib > MOST_MIB:
        tally.wrong.append(f"{tally.peak_mib:.0f} MiB at its peak")
    return tally


def _rounds(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while some := list(itertools.islice(lines, ROUND)):
        yield some


def _round(client: Client, lines: list[Line], random: Random) -> list[str]:
    """Write the lines in pieces of any size; return what is wrong with the answers that were waited for."""
    data = b"".join(line.raw + random.choice((b"\n", b"\n", b"\r\n")) for line in lines)
    while data:
        size = random.choice((1, 17, 4096, 65536, len(data)))
        wrong = client.agent.write(data[:size])
        if wrong:
            return [f"{wrong} (exit code {client.agent.wait_exit(5)})"]
        data = data[size:]
    idents = [line.ident for line in lines if line.ident is not None]

    def all_answered() -> bool:
        return all(client.trace.answers(ident, client.agent.proc) for ident in idents)

    if client.trace.wait(all_answered, ROUND_SECONDS):
        return []
    silent = [ident for ident in idents if not client.trace.answers(ident, client.agent.proc)]
    return [f"{len(silent)} sound requests are not answered, the first is {silent[0]}"]


def judge(trace: Trace, seen: int, lines: list[Line]) -> list[str]:
    """Return what is wrong with the frames since frame `seen`, which answer these lines."""
    frames = trace.frames[seen:]
    part = Trace()
    for frame in frames:
        part.add(frame.proc, frame.way, frame.raw)
    wrong = invariants.stdout_lines(part) + schema.stable().agent_trace(part)
    counts = Counter(id_key(f.value["id"]) for f in frames if f.is_answer())
    sound = {id_key(line.ident) for line in lines if line.ident is not None}
    wrong += [f"id {ident} is answered {counts[ident]} times" for ident in sound if counts[ident] > 1]
    most = sum(max(1, line.raw.count(b"\r")) for line in lines)
    if counts.total() > most:
        wrong.append(f"{counts.total()} answers to {most} lines")
    return wrong


def _end(client: Client) -> list[str]:
    """Ask once more, end the input, and return what is wrong with how it ends."""
    try:
        client.initialize()
    except BrokenError as why:
        return [str(why)]
    ended = client.agent.end()
    said = client.agent.stderr().decode("utf-8", "replace")
    wrong = [ended] if ended else []
    wrong += [f"exit code {client.agent.popen.returncode}"] if client.agent.popen.returncode else []
    return wrong + ([f"stderr: {said[-600:]}"] if said else [])
