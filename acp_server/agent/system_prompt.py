"""The system text of a conversation. Stable for a session: nothing in it changes from request to request.

What changes (time, files, state) joins as messages, so that a provider's prefix cache keeps hitting.
"""

from __future__ import annotations

from typing import Final

IDENTITY: Final = (
    "You are a coding agent. You work inside a person's editor, on the project in the directory named below.\n"
    "Answer in the person's language. Be exact and brief; show code where code says it better than words.\n"
    "Say plainly what you do not know or cannot do, and never claim to have done what you have not."
)


def system_text(cwd: str | None) -> str:
    """Return the system text for a session that works in `cwd`."""
    return IDENTITY if cwd is None else f"{IDENTITY}\n\nProject directory: {cwd}"
