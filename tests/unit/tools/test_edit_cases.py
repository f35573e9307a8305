"""The edit cases, driven through the tools alone: bytes before, an edit, bytes after.

Left to the runner with a server: the case that kills the process in the middle of a write.
"""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from acp_server.tools.tool import ToolError
from tests.support.file_rig import FileRig, text_of

Obj = dict[str, Any]
FOLDER = Path(__file__).parents[2] / "cases" / "edit"
CASES = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))]
HERE = [case for case in CASES if "kill_during_write" not in case]


def prepare(case: Obj, rig: FileRig) -> None:
    before = (FOLDER / case["before"]).read_bytes() if case["before"] else None
    outside = rig.project.parent / "outside"
    outside.mkdir()
    for entry in case.get("setup", [{"file": case["path"]}] if before is not None else []):
        if "symlink" in entry:
            (rig.project / entry["symlink"]).symlink_to(entry["to"].replace("@OUTSIDE@", str(outside)))
            continue
        path = rig.project / entry["file"] if "file" in entry else outside / entry["outside_file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before or b"")
    if "mode" in case:
        (rig.project / case["path"]).chmod(int(case["mode"], 8))


async def edited(edit: Obj, path: str, rig: FileRig) -> tuple[str, str]:
    if edit["op"] == "write":
        name, arguments = "write", {"content": edit["content"]}
    elif edit["op"] == "multi":
        edits = [{"old_string": one["old"], "new_string": one["new"]} for one in edit["edits"]]
        name, arguments = "multi_edit", {"edits": edits}
    else:
        arguments = {"old_string": edit["old"], "new_string": edit["new"], "replace_all": edit.get("all", False)}
        name = "edit"
    try:
        return "ok", text_of(await rig.call(name, json.dumps({"path": path, **arguments})))
    except ToolError as error:
        return "error", error.message


def faults(want: Obj, outcome: str, message: str, path: Path) -> list[str]:
    found = [] if outcome == want["outcome"] else [f"outcome {outcome}: {message}"]
    content = path.read_bytes() if path.is_file() else None
    if want["after"] is not None and content != (FOLDER / want["after"]).read_bytes():
        found.append(f"the file is {str(content)[:200]}")
    low = message.lower()
    found += [f"not said: {words}" for words in want.get("message_has", []) if words not in low]
    if not any(words in low for words in want.get("message_has_any", [""])):
        found.append(f"said none of {want['message_has_any']}: {message}")
    if len(message.encode()) > want.get("message_max_bytes", 1 << 30):
        found.append("the message is too long")
    if "mode" in want and stat.S_IMODE(path.stat().st_mode) != int(want["mode"], 8):
        found.append("the mode changed")
    return found


@pytest.mark.parametrize("case", HERE, ids=[case["id"] for case in HERE])
async def test_case(case: Obj, rig: FileRig) -> None:
    prepare(case, rig)
    path = rig.project / case["path"]
    before = path.read_bytes() if path.exists() else None
    if path.exists():
        try:
            await rig.run("read", path=case["path"])
        except ToolError as error:
            assert (case["id"], error.code) == ("E024", "DENIED")  # noqa: PT017 - the one case whose file is outside
    if "between" in case:
        path.write_bytes(base64.b64decode(case["between"]["file_becomes_b64"]))
    outcome, message = await edited(case["edit"], case["path"], rig)
    tries = [faults(want, outcome, message, path) for want in (case["expect"], *case["expect"].get("also_right", []))]
    assert [] in tries, tries
    for check in case["expect"].get("check", []):
        if "symlink" in check:
            assert str((rig.project / check["symlink"]).readlink()) == check["to"]
        elif "file" in check:
            assert (rig.project / check["file"]).read_bytes() == (FOLDER / case["expect"]["after"]).read_bytes()
        else:
            assert (rig.project.parent / "outside" / check["outside_file"]).read_bytes() == before


def test_only_the_kill_is_left_out() -> None:
    assert [case["id"] for case in CASES if case not in HERE] == ["E046"]
    assert {key for case in HERE for key in case["expect"]} <= {
        "outcome",
        "after",
        "also_right",
        "message_has",
        "message_has_any",
        "message_max_bytes",
        "mode",
        "check",
    }
