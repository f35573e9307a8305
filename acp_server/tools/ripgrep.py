"""The ripgrep program as a finder: which files match, how often, and which files there are.

What it prints of a file's content is never shown: the lines come through the fence. Refuses its own configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from acp_server.base.values import value
from acp_server.sandbox.lists import within
from acp_server.sandbox.policy import Policy
from acp_server.tools.globs import plain_name
from acp_server.tools.matcher import Stop, Stopped
from acp_server.tools.search_pattern import SearchPattern
from acp_server.tools.walk import NEVER

_ALWAYS: Final = (
    "--no-config",
    "--no-messages",
    "--color=never",
    "--hidden",
    "--no-require-git",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--null",
    *(f"--glob=!{name}" for name in sorted(NEVER)),
)
_TYPE: Final = "acpserver"
_MOST_OUTPUT: Final = 256 * 1024 * 1024
_MOST_ERRORS: Final = 64 * 1024


@value
class Place:
    """Where to look: a directory, absolute, at or below `top`; `rules` are those of .gitignore files above it."""

    top: str
    directory: str
    rules: bytes = b""
    ignored: bool = False
    glob: str | None = None


def find_ripgrep(search_path: str) -> str | None:
    """Return the program's absolute path, or None; directories of the search path that are relative do not count."""
    absolute = [entry for entry in search_path.split(os.pathsep) if entry.startswith("/")]
    return shutil.which("rg", path=os.pathsep.join(absolute))


def unwritable(program: str | None, policy: Policy) -> str | None:
    """Return the program unless it lies where commands may write: one of them could have put it there."""
    if program is None:
        return None
    names = (program, os.path.realpath(program))
    inside = any(within(name, place) for name in names for place in (policy.workspace, *policy.roots))
    return None if inside else program


def count_matches(program: str, pattern: SearchPattern, place: Place, stop: Stop) -> list[tuple[str, int]] | None:
    """Return files with the number of their matching lines; None when the program cannot run this pattern.

    Raises:
        Stopped: the end was asked for.
    """
    if pattern.rust is None:
        return None
    case = "--ignore-case" if pattern.ignore_case else "--case-sensitive"
    output = _run(program, ["--count", "--with-filename", case, "-e", pattern.rust], place, stop)
    if output is None:
        return None
    found = []
    for line in output.split(b"\n"):
        name, _, count = line.rpartition(b"\0")
        if name:
            found.append((_below(name, place), int(count)))
    return found


def list_files(program: str, place: Place, stop: Stop) -> list[str] | None:
    """Return the files below the place; None when the program fails. Raises Stopped."""
    output = _run(program, ["--files"], place, stop)
    return None if output is None else [_below(name, place) for name in output.split(b"\0") if name]


def _run(program: str, what: Sequence[str], place: Place, stop: Stop) -> bytes | None:
    stop.raise_if_asked()
    child = subprocess.Popen(  # noqa: S603 - found on the server's own path, each argument in its own place
        [program, *_ALWAYS, *_options(place), *what, "--", _inside(place)],
        cwd=place.top,
        env={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    stop.then(child.kill)
    with child:
        output, errors = _output(child, place.rules)
    if child.returncode < 0 and stop.asked:
        raise Stopped
    # 2 comes with words when the pattern is at fault, and without where a file could not be read.
    failed = child.returncode < 0 or (child.returncode == 2 and bool(errors))
    return None if failed else output


def _output(child: subprocess.Popen[bytes], rules: bytes) -> tuple[bytes, bytes]:
    """Return what the program prints, up to the limit, and its errors: one message, shorter than a pipe is long."""
    if child.stdin is None or child.stdout is None or child.stderr is None:
        return b"", b""
    with suppress(BrokenPipeError):  # a program that has ended says why on its way out
        child.stdin.write(rules)
    with suppress(BrokenPipeError):
        child.stdin.close()
    output = child.stdout.read(_MOST_OUTPUT)
    if len(output) == _MOST_OUTPUT:
        child.kill()
    return output, child.stderr.read(_MOST_ERRORS)


def _options(place: Place) -> list[str]:
    if place.ignored:
        return ["--no-ignore", *_prefilter(place)]
    return [*(["--ignore-file=/dev/stdin"] if place.rules else []), *_prefilter(place)]


def _prefilter(place: Place) -> list[str]:
    """A type is looked at after the rules of .gitignore; a glob of the command line would override them."""
    name = plain_name(place.glob) if place.glob else None
    return [f"--type-add={_TYPE}:{name}", f"--type={_TYPE}"] if name else []


def _inside(place: Place) -> str:
    return "./" + place.directory.removeprefix(place.top).strip("/")


def _below(name: bytes, place: Place) -> str:
    """Return the path relative to the directory that was searched."""
    return os.fsdecode(name).removeprefix(_inside(place)).lstrip("/")
