"""`python -m tests.bench SUITE` measures and prints; see docs/testing.md.

Absolute figures swing with the machine: quote them with the floor of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Sequence

from tests.bench import append, context, decode, idle, parallel, startup, store, stream, tools, turn
from tests.bench.figures import Figure, table
from tests.bench.setting import Setting, own_command

SUITES: dict[str, Callable[[Setting], list[Figure]]] = {
    "startup": startup.run,
    "turn": turn.run,
    "stream": stream.run,
    "idle": idle.run,
    "parallel": parallel.run,
    "decode": decode.run,
    "store": store.run,
    "huge": store.run_huge,
    "append": append.run,
    "tools": tools.run,
    "context": context.run,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or with --strict 1 when a figure misses what it must reach."""
    options = _parser().parse_args(argv)
    command = tuple(shlex.split(options.agent)) if options.agent else own_command()
    extra = dict(pair.split("=", 1) for pair in options.env)
    setting = Setting(command, rounds=options.rounds, scripted=not options.agent, extra=extra)
    names = list(SUITES) if "all" in options.suites else options.suites
    figures = [figure for name in names for figure in SUITES[name](setting)]
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {shlex.join(command)}"
    print(f"{machine}\n{table(figures)}", file=sys.stderr if options.json else sys.stdout)
    if options.json:
        print(json.dumps({"machine": machine, "figures": [figure.to_json() for figure in figures]}, indent=1))
    return int(options.strict and any(figure.verdict == "missed" for figure in figures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "suites", nargs="+", choices=[*SUITES, "all"], metavar="SUITE", help=", ".join([*SUITES, "all"])
    )
    parser.add_argument("--rounds", type=int, help="rounds of each measurement instead of its usual number")
    parser.add_argument("--json", action="store_true", help="JSON on standard output, the table on standard error")
    parser.add_argument("--agent", metavar="CMD", help="another agent's command (it needs no scripted model)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="more environment for it")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a figure misses what it must reach")
    return parser


if __name__ == "__main__":
    sys.exit(main())
