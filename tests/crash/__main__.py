"""The command: `python -m tests.crash SUITE... [--share N]`, the crash campaigns in the numbers of a release.

`--share` divides all numbers, to see that a suite runs. The exit code is 1 when a promise was broken or too little was
tried.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from acp_server.persistence.batches import Encoding
from tests.crash.campaign import campaign
from tests.crash.damages import damaged
from tests.crash.loop_image import cut_power, why_not
from tests.crash.maker import Doom, Maker, acked, broken_promise, judge_race, making
from tests.crash.mutants import MUTANTS, beside_workload, wrong

SEEDS = range(1, 6)
ENCODINGS: tuple[Encoding, ...] = ("zstd", "none")
BATCHES = 5
CALLS = ("write", "sync", "truncate", "link", "rename", "unlink", "sync_dir", "open", "make_dir")
FAILURES = ("EIO", "ENOSPC", "EDQUOT", "EINTR", "EACCES", "EROFS", "EMFILE", "EPERM")

Suite = Callable[[int, Path], Iterator[str]]
"""Yields one line for each broken promise, after trying the number of things that belongs to it, or more."""


def simulate(number: int, _: Path) -> Iterator[str]:
    """Power cuts behind every call of the log's own code on a disk in memory, in five seeds."""
    for seed in SEEDS:
        for encoding in ENCODINGS:
            for story in (None, beside_workload):
                given = () if story is None else (story,)
                broken = campaign(seed, number // (len(SEEDS) * 4), encoding, *given)[1]
                yield from (f"seed {seed}, {encoding}: {words}, {times} times" for words, times in broken.items())


def mutants(number: int, _: Path) -> Iterator[str]:
    """Logs that are wrong on purpose; one that lives through its states is a failure of the campaign."""
    for name, (story, patches) in MUTANTS.items():
        with wrong(patches):
            if not campaign(3, number, "zstd", story, stop=True)[1]:
                yield f"the mutant lives: {name}"


def power(number: int, folder: Path) -> Iterator[str]:
    """Power cuts on an ext4 image, and that a disk which does not sync is found out."""
    reason = why_not(folder)
    if reason is not None:
        yield f"not tried: {reason}"
        return
    random = Random(1)
    found = (cut_power(folder, random) for _ in range(number))
    yield from (f"cut {cut}: {problem}" for cut, problem in enumerate(found, 1) if problem is not None)
    if not any(cut_power(folder, random, synced=False) for _ in range(12)):
        yield "a disk that does not sync is not found out"


def kills(number: int, folder: Path) -> Iterator[str]:
    """Writers killed at each call of each kind until one lives, then at calls drawn by chance."""
    with making() as maker:
        tried = 0
        for call in ("any", *CALLS):
            for at in count(1):
                tried += 1
                status, problem = _doomed(maker, folder / f"{call}-{at}", (call, at, "kill"))
                yield from _told(problem, call, at)
                if status == 0:
                    break
        random = Random(2)
        for at in range(number - tried):
            torn = random.random() < 0.4
            doom = ("write", random.randint(1, 12), "torn") if torn else ("any", random.randint(1, 60), "kill")
            yield from _told(_doomed(maker, folder / f"more-{at}", doom, random.randint(1, 9))[1], *doom)


def errors(number: int, folder: Path) -> Iterator[str]:
    """Failures of every kind of call, once and from then on, at the first, the second and so on."""
    with making() as maker:
        tried = 0
        for at in count(1):
            for call in CALLS:
                for name in (*FAILURES, *(f"{failure}+" for failure in FAILURES)):
                    tried += 1
                    yield from _told(
                        _doomed(maker, folder / f"{call}-{name}-{at}", (call, at, name))[1], call, at, name
                    )
            if tried >= number:
                return


def races(number: int, folder: Path) -> Iterator[str]:
    """Two processes, and then more, that want one session at the same time, again and again."""
    with making() as maker:
        for at_once in (2, 5, 20):
            root, rounds = folder / str(at_once), max(number // at_once, 1) if at_once > 2 else number
            promised = acked(maker.one(root, 1)[1])
            lines = maker.race(root, at_once, rounds)
            yield from _told(judge_race(root, lines, at_once * rounds, promised), f"{at_once} at once")


def damages(number: int, _: Path) -> Iterator[str]:
    """Damaged log files: a true prefix or a refusal, in time."""
    total = Counter[str]()
    for encoding in ENCODINGS:
        for seed in SEEDS:
            counted, wrong_ones = damaged(seed, number // (len(SEEDS) * len(ENCODINGS)), encoding)
            total += counted
            yield from wrong_ones
    print(f"  {dict(total)}")


SUITES: dict[str, tuple[Suite, int]] = {
    "simulate": (simulate, 250_000),
    "mutants": (mutants, 5_000),
    "power": (power, 500),
    "kills": (kills, 1_000),
    "errors": (errors, 600),
    "races": (races, 1_000),
    "files": (damages, 100_000),
}


def _doomed(maker: Maker, root: Path, doom: Doom, batches: int = BATCHES) -> tuple[int, str | None]:
    status, lines = maker.one(root, batches, doom)
    if "ERR DISK_POISONED" in lines and "ACK" in str(lines[lines.index("ERR DISK_POISONED") :]):
        return status, "something was promised after a failed sync"
    return status, broken_promise(root, acked(lines))


def _told(problem: str | None, *where: object) -> Iterator[str]:
    if problem is not None:
        yield f"{' '.join(map(str, where))}: {problem}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument(
        "suites", nargs="+", choices=[*SUITES, "all"], metavar="SUITE", help=", ".join([*SUITES, "all"])
    )
    parser.add_argument("--share", type=int, default=1, metavar="N", help="try one N-th of everything")
    given = parser.parse_args()
    failed = 0
    for name in list(SUITES) if "all" in given.suites else given.suites:
        suite, number = SUITES[name]
        start = time.monotonic()
        with TemporaryDirectory(prefix="crash-") as folder:
            broken = list(suite(max(number // given.share, 1), Path(folder)))
        failed += len(broken)
        print(
            f"{name}: {number // given.share} tried, {len(broken)} broken, {time.monotonic() - start:.0f} s", flush=True
        )
        for line in broken:
            print(f"  {line}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
