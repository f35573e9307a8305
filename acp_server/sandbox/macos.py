"""A policy as the text of a macOS sandbox profile (docs/sandbox.md, clauses X-1 to X-3). Pure.

Owns the order: the last rule that matches counts. There are no namespaces on that system, so processes are held less
than files. Nothing here is started; the text is checked by its tests only.
"""

from __future__ import annotations

import re

from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import GIT_PROTECTED, HOME_SECRETS, PROTECTED, WORKSPACE_SECRETS
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import writable_places

_ALWAYS_WRITABLE = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")


def macos_profile(policy: Policy, host: Host, private: str) -> str:
    """Return the profile for a policy below full-access; `private` is the call's own temporary directory, canonical."""
    places = writable_places(policy, host)
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (literal {_quoted(path)}))" for path in _ALWAYS_WRITABLE]
    lines += [f"(allow file-write* (subpath {_quoted(path)}))" for path in (private, *places)]
    lines += [f"(deny file-write* (regex {_expression(place, name)}))" for place in places for name in _protected()]
    lines += [f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in host.own]
    lines += [f"(deny file-read* file-write* (regex {_expression(host.home, name)}))" for name in HOME_SECRETS]
    if policy.network.mode != "off":
        lines += [
            f"(deny file-read* (regex {_expression(place, name, anywhere=True)}))"
            for place in (policy.workspace, *policy.roots)
            for name in WORKSPACE_SECRETS
        ]
    lines += [f"(allow file-read* (subpath {_quoted(path)}))" for path in policy.allowed_paths]
    if places:
        lines += [f"(allow file-write* (subpath {_quoted(path)}))" for path in policy.allowed_paths]
    lines += [f"(deny file-write* (subpath {_quoted(path)}))" for path in policy.denied]
    if policy.network.mode != "on":
        lines += ["(deny network*)", '(allow network* (local ip "localhost:*"))']
    lines += ["(deny process-info* (target others))", "(deny signal (target others))"]
    return "\n".join(lines) + "\n"


def _protected() -> tuple[str, ...]:
    return (*PROTECTED[1:], *(f".git/{name}" for name in GIT_PROTECTED))


def _quoted(path: str) -> str:
    """Return a string of the profile's language."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expression(place: str, name: str, *, anywhere: bool = False) -> str:
    """Return an expression for a name and what lies beneath; letters count in either case, as on most disks there."""
    escaped = re.escape(name).replace(r"\*", "[^/]*")
    folded = re.sub(r"(?<!\\)[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", escaped)
    between = "/(.*/)?" if anywhere else "/"
    text = f"^{re.escape(place)}{between}{folded}(/|$)"
    return '#"' + text.replace('"', '\\"') + '"'
