"""Where the server keeps what outlives it: decision 19 of docs/decisions, in short ACP_SERVER_HOME or the XDG homes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value

HOME_VARIABLE: Final = "ACP_SERVER_HOME"
NAME: Final = "acp-server"


@value
class Places:
    """Absolute directories: `state` for logs, `config` for settings, `cache` for what can be made again."""

    state: str
    config: str
    cache: str

    @property
    def sessions(self) -> str:
        """Return the directory of session logs."""
        return os.path.join(self.state, "sessions")  # noqa: PTH118 - pathlib is not on the start path


def find_places(environment: Mapping[str, str], account_home: Callable[[], str | None]) -> Places:
    """Return the places that the environment names; `account_home` asks the password database.

    Raises:
        ServerError: NO_HOME when nothing names a home, INVALID_HOME when one is a relative path.
    """
    own = environment.get(HOME_VARIABLE, "")
    if own:
        _require_absolute(HOME_VARIABLE, own)
        return Places(own, own, own)
    return Places(
        state=_xdg(environment, "XDG_STATE_HOME", ".local/state", account_home),
        config=_xdg(environment, "XDG_CONFIG_HOME", ".config", account_home),
        cache=_xdg(environment, "XDG_CACHE_HOME", ".cache", account_home),
    )


def account_home() -> str | None:
    """Return the home of the account that runs the process, or None when the account is not known."""
    import pwd  # noqa: PLC0415 - asked only when the environment names no home

    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:
        return None


def _xdg(environment: Mapping[str, str], variable: str, below_home: str, account: Callable[[], str | None]) -> str:
    base = environment.get(variable, "")
    if not base.startswith("/"):  # the XDG rules: a relative path is ignored
        home = environment.get("HOME", "") or account()
        if not home:
            raise ServerError("NO_HOME", f"No home directory is known; set {HOME_VARIABLE} to an absolute path.")
        _require_absolute("HOME", home)
        base = f"{home}/{below_home}"
    return f"{base.rstrip('/')}/{NAME}"


def _require_absolute(variable: str, path: str) -> None:
    if not path.startswith("/"):
        raise ServerError("INVALID_HOME", f"{variable} is {path!r}; it must be an absolute path.")
