"""`python -m tests.conformance --agent "CMD"` judges an ACP agent, clause by clause of docs/protocol.md.

Exit 0: no MUST is broken. 1: one is. 2: the agent does not start, or the arguments are wrong.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.cases import names
from tests.conformance import report, run
from tests.conformance.check import CHECKS, FaultError
from tests.conformance.kit import Kit, Options
from tests.support import launch
from tests.support.client import BrokenError

OURS = {"ACP_SERVER_MODEL": "openai/gpt-4.1", "OPENAI_BASE_URL": "{url}", "OPENAI_API_KEY": "{key}"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    made.add_argument("--agent", help="the command that starts the agent (default: this repository's server)")
    made.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of the agent")
    made.add_argument(
        "--model-env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="points the agent at the scripted model: {url} is its address with /v1, {root} without, {key} a key",
    )
    made.add_argument("--tools", default="", help="the agent's names of tools: read_file=read,shell=bash")
    made.add_argument("--args", default="", help="its names of arguments: path=file_path,edit_file.old=old_string")
    made.add_argument("--sign-in", metavar="METHOD", help="a method of authenticate that asks nothing of a person")
    made.add_argument("--seconds", type=float, default=30.0, help="how long an answer may take (default: 30)")
    made.add_argument("--patience", type=float, default=3.0, help="stretches the times that clauses name (default: 3)")
    made.add_argument("--only", action="append", default=[], metavar="ID", help="a clause; may be repeated")
    made.add_argument("--jobs", type=int, default=1, help="subjects that are judged at once")
    made.add_argument("--list", action="store_true", help="print the clauses that are judged")
    made.add_argument("--json", action="store_true", help="print the judgement as JSON")
    return made


def read(given: argparse.Namespace) -> Options:
    """Return what the arguments say of the agent."""
    own = given.agent is None
    called = names.Names(names.pairs(given.tools), names.pairs(given.args))
    return Options(
        command=launch.COMMAND if own else tuple(shlex.split(given.agent)),
        env=dict(word.split("=", 1) for word in given.env),
        model_env=OURS if own and not given.model_env else dict(word.split("=", 1) for word in given.model_env),
        names=names.OURS if own and not given.tools else called,
        sign_in=given.sign_in,
        seconds=given.seconds,
        patience=given.patience,
    )


def main(words: Sequence[str] | None = None) -> int:
    given = parser().parse_args(words)
    unknown = [ident for ident in given.only if ident not in CHECKS]
    if unknown:
        print(f"there is no check {unknown[0]}", file=sys.stderr)
        return 2
    wanted = run.chosen(given.only)
    if given.list:
        print(report.listing(wanted))
        return 0
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as root:
        kit = Kit(read(given), Path(root))
        try:
            kit.ordinary()
        except (BrokenError, FaultError, OSError) as why:
            print(f"the agent does not start: {why}", file=sys.stderr)
            return 2
        finally:
            kit.close()
        verdicts = run.side_by_side(kit.options, Path(root), wanted, given.jobs)
    if not given.json:
        print("\n".join(report.row(verdict) for verdict in verdicts))
    print(report.document(verdicts) if given.json else report.summary(verdicts))
    return report.status(verdicts)


if __name__ == "__main__":
    sys.exit(main())
