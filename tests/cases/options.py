"""What a run of cases is told: the agent, its names, what it has, and how much to show. Owns the command line."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cases import names, report
from tests.cases.names import Names
from tests.support import launch, schema
from tests.support.llm_script import Asked
from tests.support.trace import Obj, Trace

HERE = Path(__file__).resolve().parent
SHOWN_BYTES = 240


@dataclass(frozen=True, slots=True)
class Options:
    """`agent` is its command, `own` whether it is this repository's; `have` is what it can do, None for everything."""

    agent: tuple[str, ...] = launch.COMMAND
    own: bool = True
    names: Names = names.OURS
    have: frozenset[str] | None = None
    verbose: bool = False
    keep: bool = False
    strict: bool = False


def default_needs() -> frozenset[str]:
    """Return what the product has so far, as needs.txt says."""
    return frozenset((HERE / "needs.txt").read_text("utf-8").strip().split(","))


def traffic(trace: Trace, asked: Sequence[Asked], stderr: Sequence[Path]) -> list[str]:
    """Return the lines that show what went to and fro in one run."""
    lines = [f"  {f.proc} {'->' if f.way == 'sent' else '<-'} {f.raw[:SHOWN_BYTES]!r}" for f in trace.frames]
    for number, one in enumerate(asked, 1):
        marks = [word for word in ("side", "refused", "hung_up") if getattr(one, word)]
        newest = [(m.get("role"), str(m.get("content"))[:40]) for m in one.messages[-6:]]
        lines.append(f"  model request {number} {marks} {one.size} bytes: {newest}")
    for path in stderr:
        text = path.read_text("utf-8", "replace")[-1500:]
        lines += [f"  stderr: {text}"] if text else []
    return lines


def parser(kind: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=f"tests.cases.{kind}", description=f"Run the {kind} cases against an agent.")
    made.add_argument("--cases", type=Path, default=HERE / kind, help="the folder with the sidecars")
    made.add_argument("--agent", help="the command that starts the agent (default: this repository's server)")
    made.add_argument("--only", action="append", default=[], help="an id; may be repeated")
    made.add_argument("--needs", help="what the agent has; cases that need more are skipped (default: needs.txt)")
    made.add_argument("--tools", default="", help="the agent's names of tools: read_file=read,shell=bash")
    made.add_argument("--args", default="", help="its names of arguments: path=file_path,edit_file.old=old_string")
    made.add_argument("--jobs", type=int, default=1, help="cases that run at once")
    made.add_argument("--strict", action="store_true", help="add the protocol's schema and invariants")
    made.add_argument("-v", "--verbose", action="store_true", help="show what went to and fro")
    made.add_argument("--keep", action="store_true", help="keep the scratch directories")
    return made


def read(given: argparse.Namespace) -> Options:
    """Return what the arguments say."""
    own = given.agent is None
    have = default_needs() if given.needs is None else frozenset(given.needs.split(","))
    called = Names(names.pairs(given.tools), names.pairs(given.args))
    return Options(
        agent=launch.COMMAND if own else tuple(shlex.split(given.agent)),
        own=own,
        names=names.OURS if own and not given.tools and not given.args else called,
        have=have,
        verbose=given.verbose,
        keep=given.keep,
        strict=given.strict,
    )


def shape(cases: Path, kind: str) -> schema.Validator:
    """Return the judge of sidecars: the schema beside the folder of cases, or in it, or the one of this repository."""
    places = (cases.parent, cases, HERE)
    path = next(p for place in places if (p := place / f"{kind}.schema.json").is_file())
    found: Obj = json.loads(path.read_text("utf-8"))
    return schema.validator(found)


def refuse_what_is_lacking(case: Obj, options: Options) -> None:
    """Raise SkipError when the case needs what the agent does not have yet."""
    lacking = [need for need in case["needs"] if options.have is not None and need not in options.have]
    if lacking:
        raise report.SkipError(f"needs {', '.join(lacking)}")
