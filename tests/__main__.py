"""`python -m tests` runs everything that has to hold before a change lands, stage by stage.

Prints a line a stage, the output of each failed one, and a closing line with the sums. Exit 1 when anything failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.stages import ROOT, STAGES, Stage, Tally


def main(argv: Sequence[str] | None = None) -> int:
    """Run the chosen stages; return 1 when a check failed."""
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="STAGE", help="run this stage (repeatable)")
    parser.add_argument("--list", action="store_true", help="print the stages and their commands")
    options = parser.parse_args(argv)
    if options.list:
        for stage in STAGES:
            print(f"{stage.name:<14}python {' '.join(stage.argv[1:])}")
        return 0
    total = Tally()
    for stage in STAGES:
        if not options.only or stage.name in options.only:
            total += perform(stage)
    print(total, flush=True)
    return int(total.failed > 0)


def perform(stage: Stage) -> Tally:
    """Run one stage, print its line, and its output when a check failed."""
    start = time.monotonic()
    missing = [name for name in stage.needs if not (ROOT / name).exists()]
    if missing:
        tally, output = Tally(failed=1), f"there is no {', '.join(missing)}\n"
    else:
        tally, output = _run(stage)
    print(f"{stage.name:<14}{time.monotonic() - start:>7.1f} s   {tally}", flush=True)
    if tally.failed:
        print(output, flush=True)
    return tally


def _run(stage: Stage) -> tuple[Tally, str]:
    with tempfile.TemporaryFile() as kept:
        with subprocess.Popen(
            stage.argv,
            cwd=ROOT,
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=kept,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            late = _wait(process, stage.limit_seconds)
        kept.seek(0)
        output = kept.read().decode("utf-8", "replace")
    if late:
        return stage.count(1, output), f"{output}\nstopped after {stage.limit_seconds} s\n"
    return stage.count(process.returncode, output), output


def _wait(process: subprocess.Popen[bytes], seconds: int) -> bool:
    """Wait for the end; return whether it came too late. What is left of the process's group is killed either way."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return False


def environment(outer: Mapping[str, str]) -> dict[str, str]:
    """Return the stages' environment: this interpreter's commands first, pytest plugins only by name."""
    path = os.pathsep.join([str(Path(sys.executable).parent), outer.get("PATH", os.defpath)])
    return {**outer, "PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the running stage ends too
    sys.exit(main())
