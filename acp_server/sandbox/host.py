"""Reading what the sandbox has to know of the machine and the person's account, once a process."""

from __future__ import annotations

import os
import platform
import pwd
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from acp_server.sandbox.facts import NOTHING, Host

_SOCKET_VARIABLES: Final = (
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "WAYLAND_DISPLAY",
)


def read_host(
    environment: Mapping[str, str],
    state: str,
    own: tuple[str, ...] = (),
    *,
    added: Mapping[str, str] = NOTHING,
    marked: frozenset[str] = frozenset(),
) -> Host:
    """Return the facts of this process. `state` is a directory of the server's, made when it is needed.

    `own` are the server's directories that tools may not see; `state` is always one of them.
    """
    name, account = _account()
    home = environment.get("HOME", "")
    return Host(
        home=os.path.realpath(home if home.startswith("/") else account),
        user=name,
        state=os.path.realpath(state),
        own=tuple(dict.fromkeys(os.path.realpath(place) for place in (state, *own))),
        path=environment.get("PATH", ""),
        runtime=_existing(environment.get("XDG_RUNTIME_DIR", "")),
        sockets=_sockets(environment),
        machine=platform.machine(),
        uid=os.geteuid(),
        timezone=environment.get("TZ", ""),
        added=MappingProxyType(dict(added)),
        marked=marked,
    )


def _account() -> tuple[str, str]:
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        return str(os.geteuid()), "/"
    return entry.pw_name, entry.pw_dir


def _existing(path: str) -> str:
    return os.path.realpath(path) if path.startswith("/") and os.path.isdir(path) else ""


def _sockets(environment: Mapping[str, str]) -> tuple[str, ...]:
    named = [environment.get(name, "") for name in _SOCKET_VARIABLES]
    paths = [text.partition("unix:")[2].partition("path=")[2] or text.removeprefix("unix://") for text in named]
    paths = [path.split(",")[0].split(";")[0] for path in paths]
    return tuple(os.path.realpath(path) for path in paths if path.startswith("/") and os.path.exists(path))
