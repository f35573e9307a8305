"""Facts about the machine and the person's account that every policy is enforced with, as a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from acp_server.base.values import value

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@value
class Host:
    """The person's home and name, the server's own directories, and what the process was started with.

    `state` is where journals and empty mount sources are kept; it lies in one of `own`. `path` is the PATH that the
    process was given, `sockets` are existing sockets of agents and daemons that its environment names.
    `added` and `marked` are the settings' part of the environment of tools.
    """

    home: str
    user: str
    state: str
    own: tuple[str, ...]
    path: str = ""
    runtime: str = ""
    sockets: tuple[str, ...] = ()
    machine: str = "x86_64"
    uid: int = 0
    language: str = "C.UTF-8"
    timezone: str = ""
    added: Mapping[str, str] = NOTHING
    marked: frozenset[str] = frozenset()
