"""The agent's tools: read, write, edit and shell, inside one project directory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases.refagent.flaws import Flaws

Obj = dict[str, Any]
ASKS = frozenset({"write_file", "edit_file", "shell"})
BOM = b"\xef\xbb\xbf"


class ToolError(Exception):
    """A call failed; the text is its result."""


def _spec(name: str, **properties: str) -> Obj:
    schema = {key: {"type": kind} for key, kind in properties.items()}
    required = [key for key in properties if key != "all"]
    parameters = {"type": "object", "properties": schema, "required": required}
    return {
        "type": "function",
        "function": {"name": name, "description": name.replace("_", " "), "parameters": parameters},
    }


SPECS = [
    _spec("read_file", path="string"),
    _spec("write_file", path="string", content="string"),
    _spec("edit_file", path="string", old="string", new="string", all="boolean"),
    _spec("shell", command="string"),
]


@dataclass(frozen=True, slots=True)
class Editor:
    """Files through the editor."""

    read: Callable[[str], str]
    write: Callable[[str, str], str]


def _is_crlf(text: bytes) -> bool:
    return b"\r\n" in text and b"\n" not in text.replace(b"\r\n", b"")


class Tools:
    """The tools of one session. `editor` is None when files are on the disk only."""

    def __init__(self, root: Path, editor: Editor | None, flaws: Flaws) -> None:
        self.root, self.editor, self.flaws = root, editor, flaws
        self.seen: dict[Path, bytes] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, name: str, args: Obj) -> str:
        """Return the result of a call; raise ToolError."""
        table: dict[str, Callable[..., str]] = {
            "read_file": self.read,
            "write_file": self.write,
            "edit_file": self.edit,
            "shell": self.shell,
        }
        if name not in table:
            raise ToolError(f"there is no tool {name}")
        try:
            return table[name](**args)
        except TypeError as why:
            raise ToolError(f"wrong arguments: {why}") from None
        except OSError as why:
            raise ToolError(f"{why.strerror or why}") from None

    def read(self, path: str) -> str:
        real = self._inside(path)
        if self.editor:
            return self.editor.read(str(real))
        raw = real.read_bytes()
        self.seen[real] = raw
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")

    def write(self, path: str, content: str) -> str:
        real = self._inside(path)
        if self.editor:
            return self.editor.write(str(real), content)
        self._refuse_if_changed(real)
        old = real.read_bytes() if real.exists() else b""
        if _is_crlf(old):
            content = content.replace("\r\n", "\n").replace("\n", "\r\n")
        self._put(real, (BOM if old.startswith(BOM) else b"") + content.encode())
        self.seen[real] = real.read_bytes()
        return f"{path} is written"

    def edit(self, path: str, old: str, new: str, all: bool = False) -> str:  # noqa: A002 - the argument's name
        real = self._inside(path)
        self._refuse_if_changed(real)
        raw = real.read_bytes()
        bom = BOM if raw.startswith(BOM) else b""
        try:
            text = raw[len(bom) :].decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError("the file is not UTF-8") from None
        if "\0" in text:
            raise ToolError("the file is binary")
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        if _is_crlf(raw):
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        count = text.count(old) if old else 0
        if not count or old == new or (count > 1 and not all):
            raise ToolError(f"{count} matches, nothing changed")
        self._put(real, bom + text.replace(old, new).encode())
        self.seen[real] = real.read_bytes()
        return f"{count} replaced"

    def shell(self, command: str) -> str:
        with self._lock:
            self._child = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=None if "stdout" in self.flaws else subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        out, _ = self._child.communicate()
        return (out or b"").decode("utf-8", "replace")[:20000] + f"\n[exit {self._child.returncode}]"

    def kill(self) -> None:
        """End the command that runs, with all its children."""
        with self._lock:
            child = self._child
        if child and "child" not in self.flaws:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def _inside(self, name: str) -> Path:
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise ToolError("the path leaves the project")
        return path

    def _refuse_if_changed(self, real: Path) -> None:
        if real in self.seen and real.exists() and real.read_bytes() != self.seen[real]:
            raise ToolError("the file was changed since it was read")

    def _put(self, real: Path, raw: bytes) -> None:
        real.parent.mkdir(parents=True, exist_ok=True)
        if "lf" in self.flaws:
            raw = raw.replace(b"\r\n", b"\n")
        if "slow" in self.flaws:
            _write_slowly(real, raw)
            return
        real = real.resolve()
        mode = real.stat().st_mode & 0o7777 if real.exists() else None
        if mode is not None and not mode & 0o222:
            raise ToolError("the file is read-only")
        part = real.with_name(f".{real.name}.part")
        part.write_bytes(raw)
        if mode is not None:
            part.chmod(mode)
        part.replace(real)


def _write_slowly(path: Path, raw: bytes) -> None:
    with path.open("wb", buffering=0) as out:
        for n in range(0, len(raw), 2000):
            out.write(raw[n : n + 2000])
            time.sleep(0.001)
