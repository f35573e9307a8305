"""An editor as the file tools meet it: texts without byte order marks, LF alone, and buffers that are not saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.base.cancel import CancelToken
from acp_server.tools.client_side import ClientFailedError, NoClient

Write = Callable[["FakeEditor", str, str], None]


def saves(editor: FakeEditor, path: str, text: str) -> None:
    """Write as an editor does that keeps a file's line ends, and knows no encoding but UTF-8."""
    old = Path(path).read_bytes() if Path(path).exists() else b""
    new = text.replace("\n", "\r\n") if b"\r\n" in old and "\r" not in text else text
    Path(path).write_bytes(new.encode())
    editor.buffers.pop(path, None)


def keeps(editor: FakeEditor, path: str, text: str) -> None:
    """Take the text into the buffer and leave the saving to the person."""
    editor.buffers[path] = text


def lies(_editor: FakeEditor, _path: str, _text: str) -> None:
    """Do nothing and say that it was done."""


def fails(_editor: FakeEditor, _path: str, _text: str) -> None:
    """Refuse."""
    raise ClientFailedError("no")


def fails_late(editor: FakeEditor, path: str, text: str) -> None:
    """Write, and say that it failed."""
    saves(editor, path, text)
    raise ClientFailedError("no")


def reformats(editor: FakeEditor, path: str, text: str) -> None:
    """Write what a formatter makes of the text."""
    saves(editor, path, text.rstrip("\n") + "\n# formatted\n")


def on_disk(path: str) -> str | None:
    """Return the text of a file as an editor has it that has just opened it."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError:
        return None


@dataclass
class FakeEditor(NoClient):
    """See ClientSide. `buffers` holds the unsaved texts by path; every other file reads as it is on the disk."""

    buffers: dict[str, str] = field(default_factory=dict)
    write: Write = saves
    reads: bool = True
    writes: bool = True
    asked: list[str] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    missing: str | None = None
    """What it answers for a file that is not there; None is an error."""

    async def read_text(self, path: str, cancel: CancelToken) -> str | None:
        self.asked.append(path)
        cancel.raise_if_cancelled()
        if path in self.buffers:
            return self.buffers[path]
        text = on_disk(path)
        return self.missing if text is None else text

    async def write_text(self, path: str, text: str, cancel: CancelToken) -> None:
        cancel.raise_if_cancelled()
        self.written.append((path, text))
        self.write(self, path, text)
