r"""Classes of characters in the two dialects of search patterns. Pure.

Owns what `\d`, `\w`, `\s` and their opposites mean: all of Unicode, and never a line end or a byte that is no text.
"""

from __future__ import annotations

from typing import Final

NEVER: Final = r"\n\r\udc80-\udcff"
"""For classes of Python: line ends, and the stand-ins for bytes that are no UTF-8."""
_SPACES: Final = r"\t\x0b\x0c\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORD: Final = r"\p{L}\p{N}_"

SETS: Final[dict[str, tuple[str, str, str, str]]] = {
    "d": (r"\d", r"\d", r"\d", r"\d"),
    "D": (rf"[^\d{NEVER}]", r"[^\d\r\n]", rf"[^\d{NEVER}]", r"[^\d\r\n]"),
    "w": (r"\w", f"[{_WORD}]", r"\w", _WORD),
    "W": (rf"[^\w{NEVER}]", rf"[^{_WORD}\r\n]", rf"[^\w{NEVER}]", rf"[^{_WORD}\r\n]"),
    "s": (f"[{_SPACES}]", r"[\s\x1c-\x1f--\r\n]", _SPACES, r"[\s\x1c-\x1f--\r\n]"),
    "S": (rf"[^\s{NEVER}]", r"[^\s\x1c-\x1f]", rf"[^\s{NEVER}]", r"[^\s\x1c-\x1f]"),
}
"""For each escaped letter: Python's source outside of classes, ripgrep's outside, Python's inside, ripgrep's inside."""
POSIX: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\t\x0b\x0c ",
    "xdigit": "0-9a-fA-F",
    "word": "a-zA-Z0-9_",
}
_RUST_META: Final = frozenset("\\.+*?()|[]{}^$#&-~")


class ClassItems:
    """What stands in a class: plain items, and sets that exclude line ends and are classes of their own."""

    def __init__(self) -> None:
        self.python: list[str] = []
        self.python_classes: list[str] = []
        self.rust: list[str] = []

    def add(self, python: str, rust: str) -> None:
        """Take one item."""
        (self.python_classes if python.startswith("[") else self.python).append(python)
        self.rust.append(rust)

    def __bool__(self) -> bool:
        return bool(self.rust)

    def sources(self, *, negated: bool) -> tuple[str, str]:
        """Return the whole class for Python and for ripgrep."""
        rust = "".join(self.rust)
        plain = "".join(self.python)
        if negated:  # a class within is the complement of a set, so that only what is in all those sets stays
            guards = "".join(f"(?!{one})" for one in self.python_classes)
            return f"(?:{guards}[^{plain}{NEVER}])", f"[^{rust}\\r\\n]"
        if not self.python_classes:
            return f"[{plain}]", f"[{rust}]"
        return f"(?:{'|'.join([*([f'[{plain}]'] if plain else []), *self.python_classes])})", f"[{rust}]"


def rust_literal(character: str) -> str:
    """Return ripgrep's source for one character."""
    if character in _RUST_META:
        return f"\\{character}"
    return character if character.isprintable() else f"\\x{{{ord(character):x}}}"
