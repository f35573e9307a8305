"""The command: `python -m tests.fuzz lines --count N --seed S`."""

from __future__ import annotations

import argparse
import shlex
import sys

from tests.fuzz.play import play
from tests.support import launch


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=["lines"], help="lines: mutated lines against a live server")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent", type=shlex.split, default=launch.COMMAND, help="the command of another agent")
    given = parser.parse_args()
    tally = play(given.count, given.seed, given.agent)
    print(*tally.wrong, tally.summary(), sep="\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
