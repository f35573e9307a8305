"""What an edit case expects: the outcome, the bytes, the message, and what stands around the file."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.cases.place import Place
from tests.support.trace import Item, Obj

OLD_TIME = 1_000_000_000


class Files(Protocol):
    """The file of a case and where it came from."""

    folder: Path
    place: Place

    @property
    def before(self) -> bytes | None: ...
    @property
    def path(self) -> Path: ...
    @property
    def content(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Done:
    """How one edit ended: `ok` or `error`, what the model was told, whether the person was asked, and the call."""

    outcome: str
    message: str
    asked: bool
    call: Item


def judge(files: Files, want: Obj, done: Done) -> list[str]:
    """Return what of `want` does not hold."""
    wrong = []
    if want["outcome"] != done.outcome:
        wrong.append(f"outcome {done.outcome}, not {want['outcome']}: {done.message[:120]!r}")
    if "mode" in want and stat.S_IMODE(files.path.stat().st_mode) != int(want["mode"], 8):
        wrong.append(f"mode {stat.S_IMODE(files.path.stat().st_mode):04o}")
    if want.get("mtime_kept") and files.path.stat().st_mtime != OLD_TIME:
        wrong.append("the file was written")
    if want.get("asked") and not done.asked:
        wrong.append("the user was not asked")
    wrong += _bytes(files, want) + _message(want, done.message) + _line(want, done.call)
    wrong += [why for what in want.get("check", []) for why in check(files, want, what)]
    tries = [check(files, want, what) for what in want.get("check_any", [])]
    return wrong + (tries[0] if tries and all(tries) else [])


def _bytes(files: Files, want: Obj) -> list[str]:
    content = files.content
    rights = [(files.folder / want["after"]).read_bytes()] if want.get("after") else []
    rights += [want["content"].encode()] if "content" in want else []
    shown = (b"not there" if content is None else content)[:120]
    return [f"the file is {shown!r}" for right in rights if content != right]


def _message(want: Obj, message: str) -> list[str]:
    low = message.lower()
    missing = [w for w in want.get("message_has", []) if w.lower() not in low]
    wrong = [f"the result does not say {w!r}: {message[:120]!r}" for w in missing]
    if "message_has_any" in want and not any(w.lower() in low for w in want["message_has_any"]):
        wrong.append(f"the result says none of {want['message_has_any']}: {message[:120]!r}")
    size = len(message.encode())
    return wrong + ([f"the result has {size} bytes"] if size > want.get("message_max_bytes", size) else [])


def _line(want: Obj, call: Item) -> list[str]:
    """The last location that names a line names this one; locations without lines say nothing."""
    lines = [place["line"] for place in call.fields.get("locations") or [] if place.get("line") is not None]
    missed = "line_of_change" in want and lines and lines[-1] != want["line_of_change"]
    return [f"the change is shown at line {lines[-1]}"] if missed else []


def check(files: Files, want: Obj, what: Obj) -> list[str]:
    """Return what is wrong with a link or a file beside the one that was edited."""
    project, outside = files.place.project, files.place.outside
    if "symlink" in what:
        path = project / what["symlink"]
        kept = path.is_symlink() and str(path.readlink()) == files.place.fill(what["to"])
        return [] if kept else [f"{what['symlink']} is not the link it was"]
    if "outside_absent" in what:
        made = os.path.lexists(outside / what["outside_absent"])
        return [f"outside/{what['outside_absent']} was made"] if made else []
    path = project / what["file"] if "file" in what else outside / what["outside_file"]
    right = files.before if what["equals"] == "before" else (files.folder / want["after"]).read_bytes()
    return [] if path.is_file() and path.read_bytes() == right else [f"{path.name} is not as {what['equals']}"]
