"""The environment of a tool, built from nothing (docs/sandbox.md, clauses E-1 to E-5). Pure.

Owns which variables exist in it, and which of the server's variables hold keys. Refuses to pass anything on that is
not named, and values that look like secrets unless the person marked them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.sandbox.lists import within

SYSTEM_PATH: Final[tuple[str, ...]] = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)

_FIXED: Final[Mapping[str, str]] = {
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "PAGER": "cat",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}

PRIVATE_CACHE: Final = "/tmp/.cache"  # noqa: S108 - the private /tmp of a box, gone with it
_CACHES: Final[Mapping[str, str]] = {
    "XDG_CACHE_HOME": PRIVATE_CACHE,
    "PIP_CACHE_DIR": f"{PRIVATE_CACHE}/pip",
    "UV_CACHE_DIR": f"{PRIVATE_CACHE}/uv",
    "npm_config_cache": f"{PRIVATE_CACHE}/npm",
    "YARN_CACHE_FOLDER": f"{PRIVATE_CACHE}/yarn",
    "GOCACHE": f"{PRIVATE_CACHE}/go-build",
    "RUFF_CACHE_DIR": f"{PRIVATE_CACHE}/ruff",
    "MYPY_CACHE_DIR": f"{PRIVATE_CACHE}/mypy",
}

FORBIDDEN: Final[frozenset[str]] = frozenset(
    {
        "BASH_ENV",
        "ENV",
        "IFS",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "PATH",
        "PERL5OPT",
        "PROMPT_COMMAND",
        "PS4",
        "PYTHONSTARTUP",
        "RUBYOPT",
        "SHELLOPTS",
        "BASHOPTS",
    }
)
"""Variables that run code or change what a command means; they cannot be passed on by name."""

_KEY_NAME = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD_HASH|CREDENTIALS?|AUTH|DSN|COOKIE"
    r"|PRIVATE|SIGNATURE|WEBHOOK)(?:_|$)"
    r"|(?:DATABASE|REDIS|MONGO(?:DB)?|AMQP|BROKER|POSTGRES|MYSQL)_UR[IL]$|CONNECTION_STRING$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abposr]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."
    r"|://[^/\s:@]*:[^/\s@]+@"
)
_OPAQUE = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


def is_key_variable(name: str) -> bool:
    """Return whether a variable's name says that it holds a secret; the server takes such ones out of its own."""
    return _KEY_NAME.search(name) is not None


def is_secret_shaped(name: str, value: str) -> bool:
    """Return whether a variable looks like a secret by its name or by its value."""
    if is_key_variable(name) or _SECRET_VALUE.search(value):
        return True
    letters = _OPAQUE.fullmatch(value) is not None and "/" not in value
    return letters and bool(re.search(r"[0-9]", value)) and bool(re.search(r"[A-Za-z]", value))


def key_variables(environment: Iterable[str]) -> tuple[str, ...]:
    """Return the names that `is_key_variable` holds for, sorted."""
    return tuple(sorted(name for name in environment if is_key_variable(name)))


def search_path(listed: str, writable: tuple[str, ...]) -> str:
    """Return a PATH: the listed directories that are absolute and outside of what tools may write, then the system's.

    `writable` are the workspace and the further roots.
    """
    kept = [entry.rstrip("/") or "/" for entry in listed.split(":") if _usable(entry, writable)]
    return ":".join(dict.fromkeys([*kept, *SYSTEM_PATH]))


def tool_environment(
    *,
    home: str,
    user: str,
    path: str,
    private: bool,
    language: str = "C.UTF-8",
    timezone: str = "",
    added: Mapping[str, str] | None = None,
    marked: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """Return the whole environment of a tool.

    `private` says that /tmp is the tool's own, so that caches go there. `added` are variables that the person's
    settings pass on by name, `marked` those of them that may hold a secret.

    Raises:
        ServerError: SECRET_IN_ENVIRONMENT for an unmarked one that looks like a secret, FORBIDDEN_VARIABLE for one
            that would run code; both name the variable and never its value.
    """
    made = {"PATH": path, "HOME": home, "USER": user, "LOGNAME": user, "LANG": language, "LC_ALL": language, **_FIXED}
    if timezone:
        made["TZ"] = timezone
    if private:
        made |= {"TMPDIR": "/tmp", **_CACHES}  # noqa: S108 - the box's own
    for name, value in (added or {}).items():
        _check(name, value, marked)
        made[name] = value
    return made


def proxy_variables(port: int) -> dict[str, str]:
    """Return the variables by which programs find a proxy on their loopback."""
    address = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    nearby = "localhost,127.0.0.1,::1"
    return dict.fromkeys(names, address) | {"NO_PROXY": nearby, "no_proxy": nearby}


def _check(name: str, value: str, marked: frozenset[str]) -> None:
    if name.upper() in FORBIDDEN or name.startswith(("LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG")):
        raise ServerError("FORBIDDEN_VARIABLE", f"The variable {name} cannot be passed on to tools.")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
        raise ServerError("FORBIDDEN_VARIABLE", f"{name!r} is no variable that can be passed on to tools.")
    if name not in marked and is_secret_shaped(name, value):
        raise ServerError(
            "SECRET_IN_ENVIRONMENT",
            f"The variable {name} looks like a secret; mark it in the settings if tools are to have it.",
        )


def _usable(entry: str, writable: tuple[str, ...]) -> bool:
    if not entry.startswith("/") or "/../" in f"{entry}/" or "/./" in f"{entry}/":
        return False
    return not any(within(entry.rstrip("/") or "/", root) for root in writable)
