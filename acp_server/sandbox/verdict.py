"""Whether a policy lets a path be read or written, by its canonical name (docs/sandbox.md, clauses V-1 to V-6). Pure.

Owns the decision that file tools ask for and that boxes are built to agree with. Where it is stricter than a box,
STRICTER says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from acp_server.base.values import value
from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import is_protected, is_secret, within
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import effective_level, writable_places

Access: TypeAlias = Literal["read", "write"]
Reason: TypeAlias = Literal["level", "denied", "outside", "protected", "secret", "linked"]

STRICTER: Final[Mapping[Reason, str]] = {
    "outside": "a command may read outside of workspaces what the account can; a file tool needs the person's word",
    "secret": "a command without network may read and write a workspace's own .env and key files; a file tool may not",
    "linked": "a command may write through a hard link that was there before; a file tool may not",
}
"""Where a file tool is refused what a command is not."""


@value
class Refusal:
    """Why a path may not be touched: `level` by the policy's level alone, `outside` of every workspace and root."""

    access: Access
    path: str
    reason: Reason


def verdict(access: Access, path: str, policy: Policy, host: Host, *, fold_case: bool = False) -> Refusal | None:
    """Return None when a canonical, absolute path may be touched so, or else why not."""
    if policy.level == "full-access":
        return None
    allowed = any(within(path, one) for one in policy.allowed_paths)
    if access == "write" and effective_level(policy, host) == "read-only":
        return Refusal(access, path, "level")
    if access == "write" and any(within(path, one) for one in policy.denied):
        return Refusal(access, path, "denied")
    if allowed:
        return None
    if is_secret(path, host.home, policy.workspace, roots=policy.roots, own=host.own, fold_case=fold_case):
        return Refusal(access, path, "secret")
    places = (policy.workspace, *policy.roots) if access == "read" else writable_places(policy, host)
    if not any(within(path, place) for place in places):
        return Refusal(access, path, "outside")
    if access == "write" and any(is_protected(path, place, home=host.home, fold_case=fold_case) for place in places):
        return Refusal(access, path, "protected")
    return None
