"""The pattern language of searches, in the two dialects that run it: Python's `re` and ripgrep's. Pure.

Owns one meaning for both: a pattern is matched line by line, nothing in it matches a line end or a byte that is no
text, classes know all of Unicode. What ripgrep's dialect lacks is left to Python's; what neither can do is refused.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from acp_server.base.values import value
from acp_server.tools.pattern_classes import NEVER, POSIX, SETS, ClassItems, rust_literal
from acp_server.tools.tool import ToolError

_CONTROLS: Final = {"t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_HEX: Final = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_REPEAT: Final = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_GROUP: Final = re.compile(r"\?(?:([ims]*(?:-[ims]+)?)([:)])|(:)|P?<([A-Za-z_]\w*)>|(#[^)]*\))|(P=\w+\))|(<?[=!]|>))")
_MOST_CHOICES: Final = 8
"""Groups and optional parts that a pattern may have to be tried in this process: ways multiply with each."""


@value
class SearchPattern:
    """One pattern in both dialects. `rust` is None where only Python can run it.

    `python` is compiled with MULTILINE and searched for in whole texts, bytes that are no UTF-8 as surrogates.
    `harmless` says that it takes little time on any text.
    """

    python: str
    rust: str | None
    ignore_case: bool = False
    harmless: bool = False

    def compile(self) -> re.Pattern[str]:
        """Return the expression of Python."""
        return re.compile(self.python, re.MULTILINE | (re.IGNORECASE if self.ignore_case else 0))


def parse_pattern(text: str, *, literal: bool = False, ignore_case: bool = False) -> SearchPattern:
    """Return the pattern.

    Raises:
        ToolError: INVALID_PATTERN, it is no regular expression, or can match nothing that stands in one line.
    """
    reader = _Reader(text)
    if literal:
        for character in text:
            reader.literal(character)
    else:
        reader.read()
    rust = None if reader.only_python else "".join(reader.rust)
    harmless = not reader.repeats and reader.choices <= _MOST_CHOICES
    pattern = SearchPattern("".join(reader.python), rust, ignore_case or reader.ignore_case, harmless)
    try:
        pattern.compile()
    except (re.error, OverflowError, RecursionError) as error:
        raise _invalid(f"is no regular expression of Python: {error}", text) from error
    return pattern


class _Reader:
    """Reads a pattern from left to right and writes it in both dialects."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.python: list[str] = []
        self.rust: list[str] = []
        self.only_python = self.ignore_case = self.repeats = False
        self.choices = 0
        # A CR before the LF belongs to the line end, unless the pattern looks for CRs.
        self.end = "$" if "\r" in text or re.search(r"(?<!\\)(?:\\\\)*\\(?:r|x0[dD])", text) else r"(?:\r?$)"

    def read(self) -> None:
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == "\\":
                self.escape()
            elif character == "[":
                self.class_()
            elif character == "(":
                self.group()
            elif character in "*+?{":
                self.repeat(character)
            elif character == ".":
                self.emit(f"[^{NEVER}]", r"[^\r\n]")
            elif character == "$":
                self.emit(self.end, self.end)
            elif character in "^|)":
                self.emit(character, character)
            else:
                self.literal(character)

    def emit(self, python: str, rust: str) -> None:
        self.python.append(python)
        self.rust.append(rust)

    def literal(self, character: str) -> None:
        if character == "\n":
            raise _invalid("has a line end, but a search looks at one line at a time", self.text)
        self.emit(re.escape(character), rust_literal(character))

    def escape(self) -> None:
        """Write what a backslash and the next characters mean."""
        character = self.text[self.at : self.at + 1]
        if (known := self.escaped_character()) is not None:
            self.literal(known)
            return
        self.at += 1
        if character in SETS:
            python, rust, *_ = SETS[character]
            self.emit(python, rust)
        elif character in ("A", "Z", "z"):
            anchor = "^" if character == "A" else self.end
            self.emit(anchor, anchor)
        elif character in ("b", "B"):
            self.emit(f"\\{character}", f"\\{character}")
        else:
            self.only_python = True
            self.python.append(f"\\{character}")

    def escaped_character(self) -> str | None:
        """Return the one character that is escaped here and step over it, or None for any other escape."""
        character = self.text[self.at : self.at + 1]
        if hexadecimal := _HEX.match(self.text, self.at):
            self.at = hexadecimal.end()
            point = int(next(digits for digits in hexadecimal.groups() if digits), 16)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                raise _invalid("names a character that does not exist", self.text)
            return chr(point)
        if named := re.compile(r"N\{([^}]+)\}").match(self.text, self.at):
            self.at = named.end()
            try:
                return unicodedata.lookup(named[1])
            except KeyError as error:
                raise _invalid("names a character that does not exist", self.text) from error
        if character in ("n", "r") or character in _CONTROLS:
            self.at += 1
            return {"n": "\n", "r": "\r", **_CONTROLS}[character]
        if character and not (character.isascii() and character.isalnum()):
            self.at += 1
            return character
        return None

    def group(self) -> None:
        """Write the opening of a group, or a comment, flags and the like."""
        self.choices += 1
        if not self.text.startswith("?", self.at):
            self.emit("(", "(")
            return
        match = _GROUP.match(self.text, self.at)
        if match is None:
            raise _invalid("has a kind of group that searches do not know", self.text)
        self.at = match.end()
        flags, end, _, name, comment, back, around = match.groups()
        if name is not None:
            self.emit(f"(?P<{name}>", f"(?P<{name}>")
        elif back is not None or around is not None:
            self.only_python = True
            self.python.append(f"({match[0]}")
        elif comment is None and end == ")":
            self.whole_flags(flags)
        elif comment is None:
            kept = (flags or "").replace("m", "").replace("s", "").removesuffix("-")
            self.emit(f"(?{kept}:", f"(?{kept}:")

    def whole_flags(self, flags: str) -> None:
        if self.python or "-" in flags:
            raise _invalid("has flags that do not stand at its start", self.text)
        self.ignore_case = self.ignore_case or "i" in flags

    def repeat(self, character: str) -> None:
        """Write a repetition; a brace that starts none is a character like any other."""
        written = character
        self.choices += 1
        self.repeats = self.repeats or character in "*+"
        if character == "{":
            match = _REPEAT.match(self.text, self.at - 1)
            if match is None or not (match[1] or match[2]):
                self.literal(character)
                return
            self.at = match.end()
            self.repeats = True
            written = f"{{{match[1] or 0}{match[2] or ''}{match[3] or ''}}}"
        following = self.text[self.at : self.at + 1]
        if following == "+":  # possessive to Python, one more repetition to the other
            self.only_python = True
        if following in ("+", "?"):
            self.at += 1
            written += following
        self.emit(written, written)

    def class_(self) -> None:
        """Write a class of characters."""
        start = self.at
        negated = self.text.startswith("^", self.at)
        self.at += negated
        items = ClassItems()
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise _invalid(f"has a bracket at {start} that is not closed", self.text)
            self.class_item(items, negated=negated)
            first = False
        self.at += 1
        if not negated and not items:
            raise _invalid("has a class that can match nothing within a line", self.text)
        self.emit(*items.sources(negated=negated))

    def class_item(self, items: ClassItems, *, negated: bool) -> None:
        posix = re.compile(r"\[:(\w+):\]").match(self.text, self.at)
        if posix:
            if posix[1] not in POSIX:
                raise _invalid(f"has a class [:{posix[1]}:] that searches do not know", self.text)
            self.at = posix.end()
            items.add(POSIX[posix[1]], POSIX[posix[1]])
            return
        low = self.class_character(items)
        if low is None:
            return
        if self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self.class_character(items)
            if high is None or high < low:
                raise _invalid("has a range whose ends are in no order", self.text)
            items.add(f"{re.escape(low)}-{re.escape(high)}", f"{rust_literal(low)}-{rust_literal(high)}")
        elif low != "\n" and not (negated and low == "\r"):
            items.add(re.escape(low), rust_literal(low))

    def class_character(self, items: ClassItems) -> str | None:
        r"""Return one character of a class, or None after a set such as `\\w` was added."""
        character = self.text[self.at]
        self.at += 1
        if character != "\\":
            return character
        if (known := self.escaped_character()) is not None:
            return known
        escaped = self.text[self.at : self.at + 1]
        self.at += 1
        if escaped == "b":
            return "\b"
        if escaped not in SETS:
            raise _invalid(f"has \\{escaped} in a class, which searches do not know", self.text)
        _, _, python, rust = SETS[escaped]
        items.add(python, rust)
        return None


def _invalid(why: str, pattern: str) -> ToolError:
    shown = pattern if len(pattern) <= 200 else f"{pattern[:200]}…"
    return ToolError("INVALID_PATTERN", f"the pattern {shown!r} {why}")
