"""Names of directories and files of a stored session (docs/log-format.md, clauses N-1 to N-6). Pure.

Ids are opaque: any text becomes one safe path segment, and two ids never share one.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value

if TYPE_CHECKING:
    from acp_server.persistence.batches import Encoding

SEGMENT_LIMIT: Final = 200
"""Bytes of a segment; below the 255 that file systems allow, so that a suffix fits."""

SLUG_LIMIT: Final = 251
NO_CWD: Final = "_no-cwd"
LOG_NAMES: Final = {"zstd": "session.jsonl.zstd", "none": "session.jsonl"}
LOCK_NAME: Final = "session.lock"
INDEX_NAME: Final = "session.index"
TORN_PREFIX: Final = "session.torn-"
ATTACHMENTS_NAME: Final = "attachments"
TRASH_NAME: Final = ".trash"
CATALOG_NAME: Final = ".catalog.sqlite"

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_SEPARATORS = re.compile(r"[/\\:]+")


@value
class LogPlace:
    """Where a session's log is: the store's root, and the names of project, session and encoding below it."""

    root: str
    project: str
    segment: str
    encoding: Encoding

    @property
    def directory(self) -> str:
        """Return the session's own directory."""
        return f"{self.root}/{self.project}/{self.segment}"

    @property
    def path(self) -> str:
        """Return the log file."""
        return f"{self.directory}/{LOG_NAMES[self.encoding]}"


def encode_segment(text: str) -> str:
    """Return a path segment for an id; injective. What is no ASCII letter, digit, `.`, `_` or `-` becomes `~XXXX`.

    A segment beyond SEGMENT_LIMIT keeps its start and ends in `~~` and 32 hex digits of the id's SHA-256; `~~`
    occurs in no other segment.

    Raises:
        ServerError: INVALID_SESSION_ID for the empty text.
    """
    if not text:
        raise ServerError("INVALID_SESSION_ID", "a session id cannot be empty")
    segment = text.replace(".", "~002E") if text in (".", "..") else _escape(text)
    if len(segment) <= SEGMENT_LIMIT:
        return segment
    digest = sha256(text.encode("utf-16-be", "surrogatepass")).hexdigest()[:32]
    return f"{segment[: SEGMENT_LIMIT - 34]}~~{digest}"


def project_key(cwd: str | None) -> str:
    """Return the directory of a working directory's sessions; readable and lossy, the header's `cwd` is what counts.

    Raises:
        ServerError: INVALID_CWD for the empty text.
    """
    if cwd is None:
        return NO_CWD
    if not cwd:
        raise ServerError("INVALID_CWD", "a working directory cannot be empty")
    slug = _escape(_SEPARATORS.sub("-", cwd)).lstrip("-") or "root"
    return f"--{slug[:SLUG_LIMIT]}--"


def _escape(text: str) -> str:
    return _UNSAFE.sub(_escape_one, text)


def _escape_one(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"~{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))
