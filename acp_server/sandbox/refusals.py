"""What a tool is told of a path that it may not touch or that the disk does not give (docs/sandbox.md, D-1 to D-3).

Owns the codes and the words. Whether a policy refuses a path is `verdict`'s matter.
"""

from __future__ import annotations

import errno
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.sandbox.facts import Host
from acp_server.sandbox.markers import advice, marker
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import effective_level
from acp_server.sandbox.verdict import Refusal

_CODES: Final = {
    errno.ENOENT: ("FILE_NOT_FOUND", "{path} does not exist."),
    errno.ENOTDIR: ("NOT_A_DIRECTORY", "A part of {path} is no directory."),
    errno.EISDIR: ("NOT_A_FILE", "{path} is a directory."),
    errno.EACCES: ("PERMISSION_DENIED", "This account may not do that to {path}."),
    errno.EPERM: ("PERMISSION_DENIED", "This account may not do that to {path}."),
    errno.ELOOP: ("LINK_LOOP", "{path} leads through links that go in circles or change all the time."),
    errno.ENAMETOOLONG: ("INVALID_PATH", "The path is too long."),
    errno.ENOSPC: ("DISK_FULL", "The disk is full; {path} was not changed."),
    errno.EDQUOT: ("DISK_FULL", "The quota is used up; {path} was not changed."),
    errno.EROFS: ("PERMISSION_DENIED", "The disk of {path} is read-only."),
}


class Denied(ServerError):  # noqa: N818 - it names an outcome, not an error
    """The policy refuses a path. The message is the marker (docs/sandbox.md, clause D-1) and what would help."""

    def __init__(self, refusal: Refusal, policy: Policy, host: Host) -> None:
        level = effective_level(policy, host)
        self.refusal = refusal
        self.marker = marker(refusal.access, level, refusal.path)
        super().__init__("SANDBOX_DENIED", f"{self.marker} {advice(refusal.access, refusal.path)}")


def changed(path: str) -> ServerError:
    """Return the error of a file that is no longer what it was."""
    return ServerError("FILE_CHANGED", f"{path} was changed by somebody else since it was read; read it again first.")


def told(error: OSError, path: str) -> ServerError:
    """Return what the disk said in words."""
    code, text = _CODES.get(error.errno or 0, ("FILE_ERROR", "{path}: " + (error.strerror or "the disk failed") + "."))
    return ServerError(code, text.format(path=path))
