"""The one form in which a denial is told, by file tools and for commands (docs/sandbox.md, clauses D-1 to D-4). Pure.

A file tool knows exactly what was denied. For a command it is inferred from the words that programs print for the
errors of a box, and only when the command failed.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final, Literal, TypeAlias

from acp_server.sandbox.policy import Level

Action: TypeAlias = Literal["read", "write", "network"]

_MOST: Final = 5
_FULL_WORDS: Final = r"Read-only file system|read-only file system|Device or resource busy|resource busy or locked"
_PARTIAL_WORDS: Final = _FULL_WORDS + r"|Permission denied|permission denied|Operation not permitted"
_TAKEN_WORDS: Final = re.compile("(?i)File exists|Is a directory|Permission denied|EEXIST|EISDIR|EACCES")
_NETWORK_WORDS: Final = re.compile(
    r"Network is unreachable|Could not resolve host|Temporary failure in name resolution|Name or service not known"
    r"|ENETUNREACH|EAI_AGAIN|getaddrinfo|No route to host|Could not resolve proxy"
)
_QUOTED: Final = re.compile("['\"\u2018`]([^'\"\u2019`\\n]{1,400})['\"\u2019]")
_PLAIN: Final = re.compile(r"(?:^|[\s:])((?:\.{0,2}/)?[^\s:'\"]*[/.][^\s:'\"]*|[^\s:'\"]+):\s*\Z")


def marker(action: Action, level: Level, path: str | None = None) -> str:
    """Return the marker of one denial."""
    return f"[sandbox: {action} denied under {level}{f': {path}' if path else ''}]"


def advice(action: Action, path: str | None = None) -> str:
    """Return the sentence that goes with a marker: the narrowest widening that helps, and that retrying does not."""
    what = "network access" if action == "network" else f"{action} access to {path}" if path else f"{action} access"
    return f"Only the person's approval of {what} for this call would help; trying again without it is pointless."


def denials(
    text: str, level: Level, cwd: str, *, partial: bool, network: bool, held: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the markers of what a failed command seems to have been denied, each once, in order.

    `partial` says that the box is the partial one, whose denials look like those of file modes; `network` that the
    command had it; `held` are names that could not be made because something empty was mounted there.
    """
    words = re.compile(_PARTIAL_WORDS if partial else _FULL_WORDS)
    found: dict[str, None] = {}
    for line in text.splitlines():
        word = words.search(line)
        taken = _TAKEN_WORDS.search(line) if held else None
        path = _path_of(line, word, cwd) if word is not None else None
        if word is not None and (path or not partial):
            found[marker("write", level, path)] = None
        elif taken is not None and (name := _held(_path_of(line, taken, cwd), held)) is not None:
            found[marker("write", level, name)] = None
        elif not network and _NETWORK_WORDS.search(line):
            found[marker("network", level)] = None
        if len(found) == _MOST:
            break
    return tuple(found)


def _held(path: str | None, held: tuple[str, ...]) -> str | None:
    """Return the held name that the path is, or lies below."""
    return next((name for name in held if path is not None and f"{path}/".startswith(f"{name}/")), None)


def _path_of(line: str, word: re.Match[str], cwd: str) -> str | None:
    """Return the path that a message names: the quoted one beside the words, else what stands before them."""
    after = _QUOTED.search(line, word.end())
    before = _QUOTED.findall(line, 0, word.start())
    plain = _PLAIN.search(line[: word.start()])
    name = before[-1] if before else after[1] if after else plain[1] if plain else None
    return posixpath.normpath(posixpath.join(cwd, name)) if name else None
