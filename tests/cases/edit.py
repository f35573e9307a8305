"""Runs the edit cases: `python -m tests.cases.edit`.

The mock model reads the file, the runner meddles, the mock model edits, and bytes are compared.
"""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cases import report
from tests.cases.client import CaseClient
from tests.cases.edit_rules import OLD_TIME, Done, judge
from tests.cases.options import Options, parser, read, refuse_what_is_lacking, shape
from tests.cases.place import Place, repeat
from tests.cases.report import SkipError
from tests.support.client import BrokenError
from tests.support.llm_script import Script, text_of
from tests.support.trace import Obj

TOOL_OF = {"replace": "edit_file", "write": "write_file", "multi": "multi_edit"}
KILL_AFTER_S = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.2)
OUTCOMES = {"completed": "ok", "failed": "error"}


@dataclass(slots=True)
class Edits:
    """What one case is about, on disk."""

    case: Obj
    folder: Path
    place: Place

    @property
    def before(self) -> bytes | None:
        return (self.folder / self.case["before"]).read_bytes() if self.case["before"] else None

    @property
    def name(self) -> str:
        return self.place.fill(self.case["path"])

    @property
    def path(self) -> Path:
        return self.place.project / self.name

    @property
    def content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except OSError:
            return None

    def prepare(self) -> None:
        """Make the files of the case; their time is OLD_TIME."""
        setup, before = self.case.get("setup", []), self.before
        made = [self._make(entry, before) for entry in setup]
        if before is not None and not any(made):
            self.path.write_bytes(before)
        for entry in setup:
            if "hardlink" in entry:
                (self.place.project / entry["hardlink"]).hardlink_to(self.place.project / entry["to"])
        if "mode" in self.case:
            self.path.chmod(int(self.case["mode"], 8))
        if self.path.exists():
            os.utime(self.path, (OLD_TIME, OLD_TIME))
        self.place.before = self.place.listing()

    def _make(self, entry: Obj, before: bytes | None) -> bool:
        """Make one entry; return whether it holds the content of the file."""
        for key, root in (("file", self.place.project), ("outside_file", self.place.outside)):
            if key in entry:
                path = root / entry[key]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(before or b"")
                return True
        if "symlink" in entry:
            (self.place.project / entry["symlink"]).symlink_to(self.place.fill(entry["to"]))
        if "dir" in entry:
            (self.place.project / entry["dir"]).mkdir(parents=True, exist_ok=True)
        return False

    def meddle(self) -> None:
        """Do what `between` says that others do to the file."""
        how = self.case.get("between", {})
        if "file_becomes_b64" in how:
            self.path.write_bytes(base64.b64decode(how["file_becomes_b64"]))
        if how.get("delete"):
            self.path.unlink()
        if how.get("touch"):
            os.utime(self.path)


def tool_call(edit: Obj, name: str) -> Obj:
    """Return the mock's answer that makes this edit."""
    args: Obj = {"path": name}
    if edit["op"] == "write":
        args["content"] = repeat(edit["content"])
    elif edit["op"] == "multi":
        args["edits"] = [{k: v for k, v in one.items() if k != "op"} for one in edit["edits"]]
    else:
        args |= {k: v for k, v in edit.items() if k != "op"}
    return {"tool": TOOL_OF[edit["op"]], "args": args}


def run(case: Obj, folder: Path, options: Options, notes: list[str]) -> list[str]:
    refuse_what_is_lacking(case, options)
    if not case.get("kill_during_write"):
        return _run_once(case, folder, options, notes)
    for delay in KILL_AFTER_S:
        wrong = _killed(case, folder, options, notes, delay)
        if wrong:
            return wrong
    return []


def _run_once(case: Obj, folder: Path, options: Options, notes: list[str]) -> list[str]:
    script = Script()
    one = CaseClient(options, script, case, "allow_once")
    files = Edits(case, folder, one.place)
    try:
        files.prepare()
        one.start()
        _read_first(one, script, files)
        files.meddle()
        done = _edit(one, script, files, case["edit"])
        if "skip_without" in case and options.names.tool(case["skip_without"]) not in one.mock.asked[0].tools:
            raise SkipError(f"the agent offers no {case['skip_without']}")
        tries = [judge(files, want, done) for want in (case["expect"], *case["expect"].get("also_right", []))]
        wrong = ["; or ".join(", ".join(faults) for faults in tries)] if all(tries) else []
        for step in case.get("then", []):
            wrong += judge(files, step["expect"], _edit(one, script, files, step["edit"]))
        return wrong + one.finish()
    except BrokenError as why:
        return [str(why)]
    finally:
        one.close(notes)


def _read_first(one: CaseClient, script: Script, files: Edits) -> None:
    if files.path.exists():
        script.answers = [{"tool": "read_file", "args": {"path": files.name}}, {"text": "read"}]
        one.prompt("read")


def _edit(one: CaseClient, script: Script, files: Edits, edit: Obj) -> Done:
    """Make one edit through the agent; return how it ended."""
    script.answers, asked = [tool_call(edit, files.name), {"text": "edited"}], one.asked
    answer, turn = one.prompt("edit")
    calls = one.calls(turn)
    if "result" not in answer or len(calls) != 1:
        raise BrokenError(f"the edit ends with {str(answer)[:200]} and {len(calls)} tool calls")
    results = [m for m in one.mock.asked[-1].messages if m.get("role") == "tool"]
    message = text_of(results[-1].get("content")) if results else ""
    return Done(OUTCOMES.get(calls[0].status, calls[0].status), message, one.asked > asked, calls[0])


def _killed(case: Obj, folder: Path, options: Options, notes: list[str], delay: float) -> list[str]:
    """Kill the agent so long after the call was announced: the file is whole, and the next start tidies up."""
    script = Script()
    one = CaseClient(options, script, case, "allow_once")
    files = Edits(case, folder, one.place)
    try:
        files.prepare()
        one.start()
        _read_first(one, script, files)
        script.answers, mark = [tool_call(case["edit"], files.name), {"text": "edited"}], len(one.trace.frames)
        one.client.ask(one.session, "edit")
        one.client.wait_update("tool_call", mark)
        time.sleep(delay)
        one.client.agent.signal("KILL")
        one.client.agent.wait_exit(5)
        wants = (case["expect"], *case["expect"].get("also_right", []))
        if files.content not in [(folder / want["after"]).read_bytes() for want in wants]:
            size = len(files.content or b"")
            return [f"killed after {delay} s: the file has {size} bytes and is neither the old nor the new one"]
        one.start()
        time.sleep(0.2)
        left = sorted(str(path.relative_to(one.place.project)) for path in one.place.project.rglob("*"))
        return one.finish() + ([] if left == [files.name] else [f"killed after {delay} s: left behind: {left}"])
    except BrokenError as why:
        return [str(why)]
    finally:
        one.close(notes)


def main(words: Sequence[str] | None = None) -> int:
    given = parser("edit").parse_args(words)
    options, folder = read(given), given.cases
    cases = report.load(folder, given.only)
    judge_case = shape(folder, "edit")
    return report.run_all(cases, lambda case, notes: run(case, folder, options, notes), judge_case, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
