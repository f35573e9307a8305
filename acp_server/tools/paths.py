"""Paths that a model names: made absolute, checked, and shown again. Pure: nothing is looked up."""

from __future__ import annotations

import posixpath
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from acp_server.tools.bounds import one_line

_MOST_BYTES: Final = 4096
_TITLE: Final = 120


def _checked(path: str) -> str:
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise ValueError("the path is no valid text") from error
    if "\0" in path:
        raise ValueError("the path holds a NUL")
    if size > _MOST_BYTES:
        raise ValueError(f"the path is longer than {_MOST_BYTES} bytes")
    return path


NamedPath = Annotated[str, Field(min_length=1), AfterValidator(_checked)]
"""A path as arguments carry it: not empty, no NUL, text that a file system can hold."""


def resolve(cwd: str, path: str) -> str:
    """Return the absolute path without `.`, `..` and doubled slashes; relative ones count from `cwd`."""
    resolved = posixpath.normpath(posixpath.join(cwd, path))
    return resolved.replace("//", "/", 1) if resolved.startswith("//") else resolved


def shown(path: str, cwd: str) -> str:
    """Return an absolute path as it is shown: relative to `cwd` where it lies inside."""
    if path == cwd:
        return "."
    return path.removeprefix(cwd.rstrip("/") + "/")


def title(verb: str, path: str, more: str = "") -> str:
    """Return one line of at most 120 characters; of a long path the end stays."""
    room = _TITLE - len(verb) - len(more) - 1
    flat = one_line(path, _MOST_BYTES)
    return one_line(f"{verb} {flat if len(flat) <= room else '…' + flat[-room + 1 :]}{more}", _TITLE)
