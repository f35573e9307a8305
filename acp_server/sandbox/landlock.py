"""The partial box: what Landlock and a filter of system calls hold, and what they leave open. Pure.

Owns the list of gaps (docs/sandbox.md, clause P-1) and the grants of a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import within
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import Layout, writable_places

GAPS: Final[Mapping[str, str]] = {
    "out_chmod": "the mode of own files outside of the workspace can be changed",
    "out_utime": "the times of own files outside of the workspace can be changed",
    "out_setxattr": "extended attributes of own files outside of the workspace can be changed",
    "unix_path_socket": "sockets of other programs can be connected to by path",
    "git_hooks_write": "hooks of git can be written; a change is undone and reported after the command",
    "git_config_write": "git's configuration can be written; a change is undone and reported after the command",
    "editor_settings_create": "an editor's settings can be made; they are set aside and reported after the command",
    "hook_by_parent_rename": "a protected folder can be renamed away; it is undone and reported after the command",
}
"""Effects of the attack matrix that succeed in this box, each by the matrix's name and in plain words."""

_HIDDEN: Final = ("/dev", "/run", "/tmp")  # noqa: S108 - named to be hidden


def grants(policy: Policy, host: Host, layout: Layout, private: str) -> dict[str, list[str]]:
    """Return what may be written, what may not be read, and exceptions to that; `private` is the call's own /tmp."""
    writable = [*writable_places(policy, host), *layout.granted, *layout.opened, private]
    hidden = [*layout.secret_directories, *layout.secret_files, *_HIDDEN, host.runtime]
    shown = [policy.workspace, *policy.roots, *layout.shown]
    needed = [path for path in shown if any(within(path, other) for other in hidden if other)]
    return {"write": writable, "hidden": sorted({path for path in hidden if path}), "shown": needed}
