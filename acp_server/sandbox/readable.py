"""Output of commands as text that a person and a model can read. Pure.

Owns what becomes of bytes that are none: invalid UTF-8 and control characters are shown as escapes, terminal sequences
are left out, and what a carriage return would overwrite on a terminal is kept as lines.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # strings of other kinds
    r"|\x1b[()*+][0-9A-Za-z]"
    r"|\x1b[0-9=>A-Z\\^_`a-z{|}~]"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[()*+])?\Z")
_CONTROLS = tuple(code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10))
_UNSEEN = (0x2028, 0x2029, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN: Final = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _UNSEEN}
_HELD_MOST: Final = 4_096
"""A terminal sequence that is longer than that is none."""

_BYTE_ESCAPES: Final = "acp_server.readable"


def _escape_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"\\x{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_BYTE_ESCAPES, _escape_bytes)


class ReadableText:
    """Bytes in as they come, readable text out; a character or sequence may be cut anywhere."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(_BYTE_ESCAPES)
        self._held = ""

    def feed(self, data: bytes) -> str:
        """Return the text that is certain so far."""
        return self._clean(self._decoder.decode(data), last=False)

    def end(self) -> str:
        """Return the rest."""
        return self._clean(self._decoder.decode(b"", final=True), last=True)

    def _clean(self, text: str, *, last: bool) -> str:
        text = self._held + text
        self._held = ""
        if not last:
            cut = _UNFINISHED.search(text) if "\x1b" in text else None
            at = cut.start() if cut and len(text) - cut.start() <= _HELD_MOST else len(text)
            text, self._held = text[:at], text[at:]
        if "\x1b" in text:
            text = _SEQUENCE.sub("", text)
        if not last and text.endswith("\r"):  # a line feed may follow, behind sequences that are left out
            text, self._held = text[:-1], f"\r{self._held}"
        return text.replace("\r\n", "\n").replace("\r", "\n").translate(_SHOWN)


def readable(data: bytes) -> str:
    """Return all of it as readable text."""
    text = ReadableText()
    return text.feed(data) + text.end()
