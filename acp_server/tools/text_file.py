"""Text files: bytes to text and back to the very same bytes. Pure.

Owns encodings, byte order marks and line ends. Refuses bytes that it could not give back exactly, and what is no text.
"""

from __future__ import annotations

import codecs
from typing import Final, Literal, TypeAlias

from acp_server.base.values import replace, value
from acp_server.tools.tool import ToolError

Encoding: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "windows-1252", "iso-8859-1"]
LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]

# The mark of UTF-32 starts with that of UTF-16, so it is looked for first.
_MARKS: Final[tuple[tuple[bytes, Encoding], ...]] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NAMES: Final[dict[Encoding, str]] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 (little endian)",
    "utf-16-be": "UTF-16 (big endian)",
    "utf-32-le": "UTF-32 (little endian)",
    "utf-32-be": "UTF-32 (big endian)",
    "windows-1252": "windows-1252",
    "iso-8859-1": "ISO 8859-1",
}
_END_NAMES: Final[dict[LineEnd, str]] = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
_CONTROLS: Final = bytes([*sorted(set(range(32)) - set(b"\t\n\r\f\b\x1b")), 127])
_HEAD: Final = 4096


class NotTextError(ToolError):
    """The bytes are no text in an encoding that can be written back exactly."""

    def __init__(self) -> None:
        super().__init__("NOT_TEXT", "the file is binary, not text")


@value
class TextFile:
    """A file's text without its byte order mark; `guessed` when nothing in the bytes proves the encoding."""

    text: str
    encoding: Encoding = "utf-8"
    mark: bytes = b""
    guessed: bool = False


def decode(data: bytes) -> TextFile:
    """Return the text of these bytes; `encode` gives the same bytes back.

    A mark decides; else UTF-8 when it fits; else an 8-bit encoding that keeps every byte.

    Raises:
        NotTextError: the bytes hold NULs or control characters as programs do, not texts.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, mark)
    if b"\0" in data:
        return _unmarked_utf_16(data)
    try:
        return TextFile(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _eight_bit(data)


def encode(file: TextFile) -> bytes:
    """Return the bytes of the text in its encoding, its mark first.

    Raises:
        ToolError: UNENCODABLE, the text has a character that the encoding lacks.
    """
    try:
        return file.mark + file.text.encode(file.encoding)
    except UnicodeEncodeError as error:
        point = ord(file.text[error.start])
        shown = "half of a surrogate pair" if 0xD800 <= point < 0xE000 else repr(chr(point))
        message = f"the file is {_NAMES[file.encoding]}, which cannot hold U+{point:04X} ({shown}); nothing was written"
        raise ToolError("UNENCODABLE", message) from error


def with_text(file: TextFile, text: str) -> TextFile:
    """Return a file like this one with another text; its mark is not written twice when the text brings one too."""
    doubled = bool(file.mark) and not file.text.startswith("\ufeff")
    return replace(file, text=text.removeprefix("\ufeff") if doubled else text)


def line_end(text: str) -> LineEnd | None:
    """Return the line end that most lines have, the first line's among equals; None for a text of one line.

    A lone CR ends lines only where no LF does.
    """
    lf = text.count("\n")
    if not lf:
        return "\r" if "\r" in text else None
    crlf = text.count("\r\n") if "\r" in text else 0
    if crlf * 2 == lf:
        return "\r\n" if text[: text.index("\n")].endswith("\r") else "\n"
    return "\r\n" if crlf * 2 > lf else "\n"


def mixed(text: str) -> bool:
    """Return whether some lines end with CRLF and others with LF."""
    return "\r\n" in text and text.count("\r\n") != text.count("\n")


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; what follows the last end is a line only when it is not empty."""
    lines = text.split("\r" if "\n" not in text else "\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def split_keeping_ends(text: str) -> list[str]:
    """Return the lines with their ends; joined, they are the text."""
    end = "\n" if "\n" in text else "\r"
    *ended, last = text.split(end)
    return [line + end for line in ended] + ([last] if last else [])


def line_at(text: str, index: int) -> int:
    """Return the number of the line that this place is in, from 1."""
    return text.count("\n" if "\n" in text else "\r", 0, index) + 1


def peculiarities(file: TextFile) -> str:
    """Return what is uncommon about the encoding and line ends, for the model, or ""."""
    said = []
    if file.encoding != "utf-8" or file.mark:
        guess = ", guessed" if file.guessed else ""
        said.append(f"{_NAMES[file.encoding]}{' with a byte order mark' if file.mark else ''}{guess}")
    if mixed(file.text):
        said.append("mixed line ends, CRLF and LF")
    elif (end := line_end(file.text)) is not None and end != "\n":
        said.append(f"{_END_NAMES[end]} line ends")
    return "; ".join(said)


def _strictly(data: bytes, encoding: Encoding, mark: bytes) -> TextFile:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotTextError from error
    if "\0" in text:
        raise NotTextError
    return TextFile(text, encoding, mark)


def _unmarked_utf_16(data: bytes) -> TextFile:
    """Return text of which the high bytes are mostly NUL, always on the same side."""
    even, odd = data[:_HEAD:2].count(0), data[1:_HEAD:2].count(0)
    if len(data) % 2 or min(even, odd) or max(even, odd) * 6 < min(len(data), _HEAD):
        raise NotTextError
    return replace(_strictly(data, "utf-16-le" if odd else "utf-16-be", b""), guessed=True)


def _eight_bit(data: bytes) -> TextFile:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls * 200 > len(data):
        raise NotTextError
    try:
        return TextFile(data.decode("windows-1252"), "windows-1252", guessed=True)
    except UnicodeDecodeError:
        return TextFile(data.decode("iso-8859-1"), "iso-8859-1", guessed=True)
