"""The tools suite: what a call costs, from the model's word to its result, and what big files, trees and outputs cost.

Searches are held against ripgrep and the confined command against a bare bubblewrap, in the same run. A figure whose
program is not on the machine is left out.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.agent_process import AgentProcess
from tests.bench.figures import TARGETS, Figure, middle
from tests.bench.setting import SCRIPTED, Setting, agent
from tests.support.file_rig import FileRig
from tests.support.ripgrep import RIPGREP

PAGE_BYTES = 100_000_000
FLOOD = "head -c 1000000000 /dev/zero | tr '\\0' a"


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures; another agent without the scripted model has none."""
    if not setting.scripted:
        return []
    found = _calls(setting)
    with TemporaryDirectory(prefix="bench-") as folder:
        root = Path(folder)
        found.append(Figure(TARGETS["page"], _first_page(root / "page", setting.times(9))))
        if RIPGREP is not None:
            found.append(_grep(root / "tree", setting, RIPGREP))
    return found


def _calls(setting: Setting) -> list[Figure]:
    with agent(setting, SCRIPTED) as process:
        process.initialize()
        session = process.new_session()
        process.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
        (process.place / "small.txt").write_text("line\n" * 50)
        rounds = setting.times(20)
        reads = [_call(process, session, "read", {"path": "small.txt", "limit": n + 1}) for n in range(rounds + 3)][3:]
        found = [middle(TARGETS["tool-trip"], [trip for trip, _ in reads])]
        bwrap = shutil.which("bwrap")
        if bwrap is not None:
            trues = [_call(process, session, "bash", {"command": f"true {n}"})[1] for n in range(rounds + 3)][3:]
            bare = [_bare(bwrap) for _ in range(rounds)]
            ratio = median(trues) / median(bare)
            note = f"{median(trues):.1f} ms to {median(bare):.1f} ms"
            found += [Figure(TARGETS["confined"], ratio, note=note), _growth(process, session)]
    return found


def _call(process: AgentProcess, session: str, tool: str, arguments: dict[str, Any]) -> tuple[float, float]:
    """Play a turn with one call; return milliseconds from its announcement to the next words, and of its run."""
    process.prompt(session, f"@script\ncall {tool} {json.dumps(arguments)}\nstep\nsay done")
    marks: dict[str, int] = {}
    for moment, line in process.updates:
        update = json.loads(line)["params"]["update"]
        if update["sessionUpdate"] in ("tool_call", "tool_call_update", "agent_message_chunk"):
            marks.setdefault(str(update.get("status", "words")), moment)
    if "completed" not in marks:
        raise RuntimeError(f"{tool} was not completed: {sorted(marks)}")
    return (marks["words"] - marks["pending"]) / 1e6, (marks["completed"] - marks["in_progress"]) / 1e6


def _bare(bwrap: str) -> float:
    """Return the milliseconds of `true` in a box that does nothing but be one."""
    started = time.monotonic_ns()
    subprocess.run([bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true"], check=True)
    return (time.monotonic_ns() - started) / 1e6


def _growth(process: AgentProcess, session: str) -> Figure:
    """Return by how much the most memory that the agent ever had grows with a command that writes a gigabyte."""
    warm = f"@script\ncall bash {json.dumps({'command': 'seq 1 200000'})}\nstep\nsay done"
    process.prompt(session, warm)
    before = _peak(process.pid)
    process.prompt(session, f"@script\ncall bash {json.dumps({'command': FLOOD})}\nstep\nsay done")
    return Figure(TARGETS["flood"], max(_peak(process.pid) - before, 1) / 1024)


def _peak(pid: int) -> int:
    """Return the most KiB that a process had in memory at once."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def _first_page(root: Path, rounds: int) -> float:
    root.mkdir()
    rig = FileRig(root)
    line = b"x" * 99 + b"\n"
    (rig.project / "big").write_bytes(line * (PAGE_BYTES // len(line)))
    found = median(_timed(lambda: asyncio.run(rig.text("read", path="big"))) for _ in range(rounds))
    rig.close()
    return found


def _grep(root: Path, setting: Setting, ripgrep: str) -> Figure:
    root.mkdir()
    rig = FileRig(root, ripgrep=ripgrep)
    _tree(rig.project, setting.files)
    wanted = f"[{setting.files // 1000:,} matching lines in {setting.files // 1000:,} files]"

    def ours() -> None:
        text = asyncio.run(rig.text("grep", pattern="needle [0-9]+", limit=2000, output="counts"))
        if wanted not in text:
            raise RuntimeError(f"the search is not complete: {text[-200:]}")

    def theirs() -> None:
        subprocess.run([ripgrep, "-n", "needle [0-9]+", "."], cwd=rig.project, check=True, capture_output=True)

    pairs = [(_timed(theirs), _timed(ours)) for _ in range(setting.times(3) + 1)][1:]
    theirs_ms, ours_ms = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    rig.close()
    return Figure(TARGETS["grep"], ours_ms / theirs_ms, note=f"{ours_ms:.0f} ms to {theirs_ms:.0f} ms")


def _tree(project: Path, files: int) -> None:
    """Make a tree of that many files, two hundred in a directory; one in a thousand holds what is looked for."""
    for number in range(files):
        if number % 200 == 0:
            folder = project / f"part{number // 20_000}" / f"d{number // 200}"
            folder.mkdir(parents=True)
        text = f"needle {number}\n" if number % 1000 == 0 else f"nothing {number}\nhere\n"
        (folder / f"f{number}.txt").write_text(text)


def _timed(action: Callable[[], object]) -> float:
    started = time.monotonic_ns()
    action()
    return (time.monotonic_ns() - started) / 1e6
