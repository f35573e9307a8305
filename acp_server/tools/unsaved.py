"""An editor's text held against the file on the disk: what of it is unsaved, and as which bytes. Pure.

Editors keep text without a byte order mark, many with LF alone and some without the last line end. None of that is a
change of the person's.
"""

from __future__ import annotations

from acp_server.tools.text_file import NotTextError, TextFile, decode, encode, line_end, with_text
from acp_server.tools.tool import ToolError


def comparable(disk: bytes) -> TextFile | None:
    """Return the file's text where it is UTF-8, which every editor reads alike, None for all other files.

    What an editor makes of binaries and of other encodings cannot be told from a change of the person's.
    """
    try:
        file = decode(disk)
    except NotTextError:
        return None
    return file if file.encoding == "utf-8" else None


def unsaved(file: TextFile, text: str) -> bytes | None:
    """Return the bytes that the editor's text stands for, in the file's own form; None where nothing is unsaved.

    An empty text for a file that is not empty is what many editors answer when they have nothing; it counts as that. So
    does one with replacement characters, with which bytes would be lost, that the file does not have.
    """
    misread = "\ufffd" in text and "\ufffd" not in file.text
    if misread or (not text and file.text) or _form(text) == _form(file.text):
        return None
    try:
        return encode(with_text(file, with_ends_of(file.text, text)))
    except ToolError:  # half of a surrogate pair
        return None


def for_editor(file: TextFile, like: str) -> str:
    """Return a file's text with line ends in the way of a text that the editor gave."""
    return file.text if "\r" in like else file.text.replace("\r\n", "\n").replace("\r", "\n")


def with_ends_of(like: str, text: str) -> str:
    """Return the text with the line ends that most lines of another have, unless it has some CR of its own."""
    end = line_end(like)
    return text if end in (None, "\n") or "\r" in text else text.replace("\n", str(end))


def _form(text: str) -> str:
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return plain.removesuffix("\n")
