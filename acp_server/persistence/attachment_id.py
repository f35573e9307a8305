"""The name of bytes that lie beside a log, made of their content (docs/log-format.md, clause G-1). Pure."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

_ID: Final = re.compile(r"sha256-[0-9a-f]{64}")


def attachment_id(content: bytes) -> str:
    """Return the id of these bytes: `sha256-` and 64 hex digits."""
    return f"sha256-{sha256(content).hexdigest()}"


def is_attachment_id(text: str) -> bool:
    """Return whether a text has the form of an id, so that it is safe as a file's name too."""
    return _ID.fullmatch(text) is not None
