"""The command: `python -m tests.fuzz lines|shapes|states --count N --seed S`."""

from __future__ import annotations

import argparse
import shlex
import sys

from tests.fuzz import lines, shapes
from tests.fuzz.play import play
from tests.fuzz.states import states
from tests.support import launch

SOURCES = {"lines": lines.generate, "shapes": shapes.generate}
MESSAGES_A_SERVER = 5000
"""Of messages by the schemas: every session that is opened is told of each login, so frames grow with the square."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=["lines", "shapes", "states"], help="what is played to a live server")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent", type=shlex.split, default=launch.COMMAND, help="the command of another agent")
    given = parser.parse_args()
    if given.what == "states":
        return states(given.count, given.seed)
    part = MESSAGES_A_SERVER if given.what == "shapes" else given.count
    for start in range(0, given.count, part):
        tally = play(min(part, given.count - start), given.seed + start, given.agent, SOURCES[given.what])
        print(*tally.wrong, tally.summary(), sep="\n", flush=True)
        if tally.wrong:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
